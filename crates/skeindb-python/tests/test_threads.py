"""Threads: everything is shared, and waiting keeps nobody else from running."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import cycle

import pytest
import skeindb
from conftest import OpenFolder
from skeindb import Database


def all_at_once(*bodies: Callable[[], None]) -> None:
    """Runs functions on threads of their own, and raises the first of their exceptions."""
    raised: list[BaseException] = []

    def run(body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_readers_and_writers_share_a_keyspace(db: Database) -> None:
    birds = db.keyspace("birds")
    birds.update({b"%04d" % n: b"0" for n in range(0, 1000, 2)})
    done = threading.Event()

    def write() -> None:
        for n in range(1, 1000, 2):
            birds[b"%04d" % n] = b"%d" % n
        done.set()

    def read() -> None:
        while True:
            last = done.is_set()
            keys = list(birds)
            assert keys == sorted(set(keys))
            assert sum(int(key) % 2 == 0 for key in keys) == 500
            if last:
                assert len(keys) == 1000
                return

    all_at_once(write, read, read)


def test_threads_share_an_iterator_and_each_row_is_yielded_once(db: Database) -> None:
    db.update({b"%05d" % n: b"" for n in range(5000)})
    keys, parts = iter(db), [[], [], []]  # type: ignore[var-annotated]
    all_at_once(*(lambda part=part: part.extend(keys) for part in parts))  # type: ignore[misc]
    assert sorted(key for part in parts for key in part) == [b"%05d" % n for n in range(5000)]


def test_threads_share_a_transaction(db: Database) -> None:
    with db.transaction() as tx:
        view = tx[db]
        all_at_once(*(lambda n=n: [view.increment(b"n") for _ in range(50)] and None for n in range(4)))  # type: ignore[misc]
    assert db[b"n"] == b"200"


def test_queue_items_go_to_one_thread_each(db: Database) -> None:
    db.update({b"%03d" % n: b"" for n in range(200)})
    taken: list[bytes] = []

    def take() -> None:
        while True:
            try:
                taken.append(db.popitem(last=False)[0])
            except KeyError:
                return

    all_at_once(take, take, take)
    assert sorted(taken) == [b"%03d" % n for n in range(200)]


def test_a_function_of_the_user_may_use_the_database(db: Database) -> None:
    def change(old: bytes | None) -> bytes:
        db[b"seen"] = old or b"none"
        return b"x"

    all_at_once(*(lambda: [db.update_with(b"k", change) for _ in range(20)] and None for _ in range(3)))  # type: ignore[misc]
    assert db[b"k"] == b"x" and db[b"seen"] in (b"x", b"none")


def test_a_buffer_that_changes_while_it_is_read(db: Database) -> None:
    """The bytes are copied before other threads run, so each key and value is one that the buffer had."""
    buffer, done, had = bytearray(b"a" * 1000), threading.Event(), {b"a" * 1000, b"b" * 5}

    def resize() -> None:
        # Each round ends with another length: other threads run between rounds alone.
        contents = cycle((b"b" * 5, b"a" * 1000))
        while not done.is_set():
            buffer[:] = next(contents)

    def insert_in_transaction() -> None:
        def insert(tx: skeindb.Transaction) -> None:
            tx[db][buffer] = buffer

        db.run(insert)

    def insert_by_batch() -> None:
        with db.batch() as batch:
            batch[db][buffer] = buffer

    uses: list[Callable[[], object]] = [
        lambda: db.insert(buffer, buffer), lambda: db.update([(buffer, buffer)]), lambda: db.setdefault(buffer, buffer),
        lambda: db.update_with(b"a" * 1000, lambda old: buffer), lambda: db.compare_and_swap(buffer, buffer, buffer),
        lambda: db.get(buffer), lambda: db.get_many([buffer, buffer]), lambda: list(db.items(prefix=buffer)),
        lambda: db.bulk_load([(buffer, buffer)]), insert_in_transaction, insert_by_batch,
    ]  # fmt: skip

    def use() -> None:
        try:
            for number in range(1_000_000):
                for call in uses:
                    call()
                assert set(db) <= had and set(db.values()) <= had
                # Until the buffer was used with either length.
                if number >= 100 and set(db) == had:
                    return
        finally:
            done.set()

    all_at_once(resize, use)
    assert set(db) == had


def test_a_close_beside_readers_and_writers_raises_closed(reopen: OpenFolder) -> None:
    db = reopen()
    started = threading.Event()

    def work() -> None:
        with pytest.raises(skeindb.ClosedError):
            while True:
                db.increment(b"n")
                list(db)
                started.set()

    def close() -> None:
        started.wait()
        db.close()

    all_at_once(work, work, close)
