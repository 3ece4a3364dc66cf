"""Transactions: commit, rollback, savepoints, conflicts, their view of the keys."""

from __future__ import annotations

import threading

import pytest
import skeindb
from skeindb import Database, Keyspace


def test_a_transaction_commits_at_its_end_or_leaves_nothing(db: Database, birds: Keyspace) -> None:
    with db.transaction() as tx:
        tx[birds][b"duck"] = b"Anas"
        tx[db][b"n"] = b"1"
        assert b"duck" not in birds and tx[birds][b"duck"] == b"Anas" and len(tx[birds]) == 4
    assert birds[b"duck"] == b"Anas" and db[b"n"] == b"1" and tx.ended
    for leaves in (KeyboardInterrupt, SystemExit, ZeroDivisionError):
        with pytest.raises(leaves), db.transaction() as tx:
            tx[birds].clear()
            assert not tx[birds]
            raise leaves
    assert len(birds) == 4
    with db.transaction() as tx:
        del tx[birds][b"duck"]
        tx.rollback()
    assert b"duck" in birds
    with db.transaction(durability="none" if db.durability == "none" else "sync") as tx:
        tx[birds].insert(b"teal", b"", ttl=60)
    assert b"teal" in birds


def test_the_view_of_a_transaction_is_a_whole_mapping(db: Database, birds: Keyspace) -> None:
    with db.transaction() as tx:
        view = tx[birds]
        assert view.pop(b"goose:grey") == b"Anser anser" and view.pop(b"goose:grey", None) is None
        assert view.setdefault(b"goose:grey", b"back") == b"back" == view.setdefault(b"goose:grey", b"no")
        assert view.increment(b"n", 4) == 4 and view.update_with(b"n", lambda old: old + b"2" if old else b"") == b"42"
        assert view.compare_and_swap(b"n", b"42", None) and not view.compare_and_swap(b"n", b"42", None)
        view.update({b"b": b"2", b"a": b"1"})
        assert view.popitem() == (b"swan:mute", b"Cygnus olor") and view.popitem(last=False) == (b"a", b"1")
        assert list(view.items(reverse=True)) == [(b"goose:grey", b"back"), (b"goose:bean", b"Anser fabalis"), (b"b", b"2")]
        assert view.get_many([b"b", b"x"]) == [b"2", None] and view.next_after(b"b") == (b"goose:bean", b"Anser fabalis")
        assert view.remove_range(prefix=b"goose") == 2 and view.first() == view.last() == (b"b", b"2")
        with pytest.raises(KeyError):
            del view[b"goose:grey"]
    assert dict(birds) == {b"b": b"2"}


def test_an_iterator_follows_the_writes_of_its_transaction(db: Database) -> None:
    db.update({b"%04d" % n: b"" for n in range(100)})
    with db.transaction() as tx:
        view, seen = tx[db], []
        for key in view:
            seen.append(key)
            if len(seen) == 1:
                del view[b"0001"]
                view[b"0000x"] = b""
            if key == b"0099":
                view[b"0100"] = b""
        assert seen[:3] == [b"0000", b"0000x", b"0002"] and seen[-2:] == [b"0099", b"0100"] and len(seen) == 101
        for key in view.keys(reverse=True):
            del view[key]
        assert list(view) == []


def test_savepoints(db: Database) -> None:
    with db.transaction() as tx:
        view = tx[db]
        view[b"a"] = b"1"
        outer = tx.savepoint()
        with pytest.raises(ZeroDivisionError), tx.savepoint():
            view[b"b"] = b"2"
            1 // 0
        assert list(view) == [b"a"]
        with tx.savepoint() as inner:
            view[b"c"] = b"3"
        assert list(view) == [b"a", b"c"]
        outer.rollback()
        with pytest.raises(skeindb.InvalidError, match="savepoint"):
            inner.rollback()
        view[b"d"] = b"4"
    assert list(db) == [b"a", b"d"]
    with pytest.raises(skeindb.ClosedError):
        outer.rollback()


def test_a_conflict_is_an_error_and_run_repeats(db: Database) -> None:
    db[b"n"] = b"0"
    tx = db.transaction()
    tx[db].increment(b"n")
    db.increment(b"n", 10)
    with pytest.raises(skeindb.ConflictError):
        tx.commit()
    assert db[b"n"] == b"10" and tx.ended

    calls = []

    def add(tx: skeindb.Transaction) -> str:
        now = int(tx[db][b"n"])
        if not calls:
            db.increment(b"n", 100)
        calls.append(now)
        tx[db][b"n"] = b"%d" % (now + 1)
        return "done"

    assert db.run(add) == "done" and calls == [10, 110] and db[b"n"] == b"111"


def test_run_leaves_nothing_of_a_function_that_raises_or_rolls_back(db: Database) -> None:
    def raises(tx: skeindb.Transaction) -> None:
        tx[db][b"a"] = b""
        raise KeyboardInterrupt("x")

    with pytest.raises(KeyboardInterrupt, match="x"):
        db.run(raises)

    def rolls_back(tx: skeindb.Transaction) -> int:
        tx[db][b"a"] = b""
        tx.rollback()
        return 7

    assert db.run(rolls_back) == 7 and not db
    kept: list[skeindb.Transaction] = []
    db.run(kept.append)
    with pytest.raises(skeindb.ClosedError):
        kept[0][db]


def test_no_write_skew_and_no_phantom(db: Database) -> None:
    db.update({b"x": b"1", b"y": b"1"})
    first, second = db.transaction(), db.transaction()
    assert len(first[db].keys()) == len(second[db].keys()) == 2
    first[db][b"z1"] = b""
    second[db][b"z2"] = b""
    first.commit()
    with pytest.raises(skeindb.ConflictError):
        second.commit()


def test_threads_add_up(db: Database) -> None:
    def transfer() -> None:
        for _ in range(25):
            db.run(lambda tx: (tx[db].increment(b"a", -1), tx[db].increment(b"b", 1)))

    threads = [threading.Thread(target=transfer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (db[b"a"], db[b"b"]) == (b"-100", b"100")
