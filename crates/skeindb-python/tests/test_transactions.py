"""Transactions: commit, rollback, savepoints, conflicts, their view of the keys."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone

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


def test_expiry_follows_one_rule_everywhere(db: skeindb.Database) -> None:
    """Incident: `increment`, `update_with` and `compare_and_swap` of a transaction dropped the time of
    a key, which those of a keyspace keep. Consequence: such keys never expired. Fix: one rule."""
    rows, far = db.keyspace("rows"), datetime(2100, 1, 1, tzinfo=timezone.utc)
    names = [b"increment", b"update_with", b"compare_and_swap", b"setdefault"]

    def change(view: skeindb.View) -> None:
        view.increment(b"increment")
        view.update_with(b"update_with", lambda old: b"2")
        assert view.compare_and_swap(b"compare_and_swap", b"1", b"2")
        assert view.setdefault(b"setdefault", b"9") == b"1"
        assert [view.expiry(name) for name in names] == [far] * 4

    for in_transaction in (False, True):
        for name in names:
            rows.insert_until(name, b"1", far)
        if in_transaction:
            with db.transaction() as tx:
                change(tx[rows])
        else:
            change(rows)
        assert [rows.expiry(name) for name in names] == [far] * 4
    rows[b"increment"] = b"1"
    assert rows.expiry(b"increment") is None


def test_times_are_read_and_changed_alone(db: skeindb.Database) -> None:
    rows, far = db.keyspace("rows"), datetime(2100, 1, 1, tzinfo=timezone.utc)
    assert not rows.expire_at(b"a", far) and not rows.persist(b"a")
    with pytest.raises(KeyError):
        rows.expiry(b"a")
    rows[b"a"] = b"1"
    assert rows.expire(b"a", timedelta(hours=1))
    expires = rows.expiry(b"a")
    assert expires is not None and 3500 < (expires - datetime.now(timezone.utc)).total_seconds() <= 3600
    assert rows.expire_at(b"a", far.timestamp()) and rows.expiry(b"a") == far
    with db.snapshot() as snapshot, db.transaction() as tx:
        assert tx[rows].persist(b"a") and tx[rows].expiry(b"a") is None
        assert snapshot[rows].expiry(b"a") == far
    assert rows.expiry(b"a") is None and rows[b"a"] == b"1"
    assert rows.expire_at(b"a", 1) and b"a" not in rows
    with pytest.raises(ValueError):
        rows.expire(b"a", 0)


def test_exclusive_transactions_commit_beside_a_hostile_writer(db: skeindb.Database) -> None:
    """Incident: a transaction that read 20,000 rows beside one writer conflicted each time.
    Consequence: its work was never done. Fix: exclusive transactions."""
    rows, done = db.keyspace("rows"), threading.Event()
    rows.bulk_load((number.to_bytes(4, "big"), b"0") for number in range(500))

    def write() -> None:
        while not done.is_set():
            rows.increment(bytes(4))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        calls = 0

        def count(tx: skeindb.Transaction) -> int:
            nonlocal calls
            calls += 1
            found = sum(1 for _ in tx[rows].items())
            tx[rows][b"zcount"] = str(found).encode()
            return found

        assert db.run(count, exclusive=True) == 500 and calls == 1
        with db.transaction(exclusive=True) as tx:
            assert len(list(tx[rows])) == 501
            with pytest.raises(skeindb.InvalidError, match="exclusive"):
                rows[b"beside"] = b""
            with pytest.raises(skeindb.InvalidError, match="exclusive"):
                db.transaction(exclusive=True)
            tx[rows][b"zlast"] = b""
    finally:
        done.set()
        writer.join()
    assert rows[b"zlast"] == b"" and b"beside" not in rows
