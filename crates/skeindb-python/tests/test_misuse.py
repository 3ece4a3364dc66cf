"""Misuse: every exception names the right way instead."""

from __future__ import annotations

import copy
import pickle
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import skeindb
from conftest import OpenFolder
from skeindb import Database, Keyspace


def test_wrong_types_are_named(db: Database, birds: Keyspace) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: birds["goose"], "not str; encode"),  # type: ignore[call-overload]
        (lambda: birds.get(7), "not int; use number.to_bytes"),  # type: ignore[call-overload]
        (lambda: birds.__setitem__(b"a", None), "not NoneType"),  # type: ignore[arg-type]
        (lambda: birds.update({b"a": "text"}), "not str"),  # type: ignore[dict-item]
        (lambda: birds.update([b"abc"]), "tuple"),  # type: ignore[list-item]
        (lambda: birds.update(7), "not iterable"),  # type: ignore[arg-type]
        (lambda: birds.keys(prefix="goose"), "not str"),  # type: ignore[arg-type]
        (lambda: birds["a":"b"], "not str"),  # type: ignore[misc]
        (lambda: birds.__setitem__(slice(b"a", b"b"), b""), "slice"),  # type: ignore[arg-type]
        (lambda: birds.update_with(b"a", lambda old: "text"), "not str"),  # type: ignore[arg-type, return-value]
        (lambda: birds.increment(b"a", "1"), "int"),  # type: ignore[arg-type]
        (lambda: db.transaction()[b"a"], r"not by bytes.*transaction\[keyspace\]\[key\]"),  # type: ignore[index]
        (lambda: db.snapshot()[b"a"], "indexed by a keyspace"),  # type: ignore[index]
        (lambda: db.keyspace(b"birds"), "str"),  # type: ignore[arg-type]
    ]
    for call, says in calls:
        with pytest.raises(TypeError, match=says):
            call()
    with pytest.raises(ValueError, match="step"):
        birds[b"a" : b"b" : b"c"]  # type: ignore[misc]
    with pytest.raises(OverflowError):
        birds.increment(b"a", 2**70)
    assert b"a" not in birds


def test_limits(db: Database, birds: Keyspace) -> None:
    calls: list[Callable[[bytes], object]] = [
        birds.get, birds.remove, birds.__contains__, lambda key: birds.insert(key, b""), lambda key: birds[key],
        lambda key: birds.update({b"a": b"", key: b""}), lambda key: birds.setdefault(key, b""), birds.pop, birds.increment,
        lambda key: birds.compare_and_swap(key, None, b""), lambda key: birds.update_with(key, lambda old: b""),
        lambda key: birds.get_many([key]), lambda key: birds.bulk_load([(key, b"")]), lambda key: birds.__delitem__(key),
        lambda key: tx[birds].insert(key, b""), lambda key: tx[birds].get(key), lambda key: frozen[birds].get(key),
    ]  # fmt: skip
    with db.transaction() as tx, db.snapshot() as frozen:
        for number, call in enumerate(calls):
            with pytest.raises(skeindb.LimitError, match="has 65528 bytes, and the limit is 65527; shorten it"):
                call(b"k" * 65_528)
                pytest.fail(f"call {number} did not raise")
        tx.rollback()
    assert b"a" not in birds
    birds[b"k" * 65_527] = b""
    # A bound is compared, and no key of the database.
    assert birds.next_after(b"k" * 65_528) == (b"swan:mute", b"Cygnus olor") and not birds[b"k" * 65_528 : b"l"]
    with pytest.raises(ValueError, match="ff 53 4b 00"):
        db[b"\xffSK\0"] = b""
    for name in ("", "n" * 256):
        with pytest.raises(ValueError, match="keyspace"):
            db.keyspace(name)
    db.keyspace("b")
    with pytest.raises(skeindb.KeyspaceError, match="already"):
        db.rename_keyspace("b", "birds")
    birds[b"n"] = b"%d" % (2**63 - 1)
    with pytest.raises(skeindb.LimitError):
        birds.increment(b"n")


def test_a_closed_database_raises_closed(db: Database, birds: Keyspace) -> None:
    rows, unused, tx, snapshot, batch = iter(birds.items()), iter(birds), db.transaction(), db.snapshot(), db.batch()
    view, frozen = tx[birds], snapshot[birds]
    batch[birds][b"x"] = b""
    assert next(rows)[0] == b"goose:bean"
    db.close()
    db.close()
    assert db.closed
    calls: list[Callable[[], object]] = [
        lambda: birds[b"goose:bean"], lambda: birds.insert(b"a", b""), lambda: next(rows), lambda: next(unused),
        lambda: list(birds.keys()), lambda: len(birds), lambda: bool(birds), lambda: birds.popitem(),
        lambda: view[b"a"], lambda: view.insert(b"a", b""), tx.commit, lambda: frozen[b"a"], lambda: list(frozen),
        batch.apply, db.transaction, db.snapshot, db.batch, db.stats, db.keyspaces, db.flush, db.checkpoint,
        lambda: db.keyspace("birds"), lambda: db.run(lambda tx: None), lambda: birds.bulk_load([(b"a", b"")]),
        lambda: birds.get_many([b"a"]), db.__enter__,
    ]  # fmt: skip
    for number, call in enumerate(calls):
        with pytest.raises(skeindb.ClosedError, match="the database is closed; open it again"):
            call()
            pytest.fail(f"call {number} did not raise")
    tx.rollback()
    snapshot.close()


def test_a_folder_can_be_opened_again_while_old_objects_live(reopen: OpenFolder) -> None:
    first = reopen()
    first[b"a"] = b"1"
    kept = [iter(first), first.snapshot(), first.transaction(), first.keyspace("k"), first.items()]
    first.close()
    with reopen() as second:
        assert second[b"a"] == b"1"
        with pytest.raises(skeindb.ClosedError):
            next(kept[0])  # type: ignore[call-overload]
        del first, kept
        second[b"b"] = b"2"
    with reopen() as third:
        assert dict(third) == {b"a": b"1", b"b": b"2"}


def test_an_iterator_outlives_the_last_reference_to_the_database(reopen: OpenFolder) -> None:
    keys = iter(reopen().keyspace("k"))
    assert list(keys) == []
    del keys
    with reopen() as db:
        assert db.keyspaces() == ["k"]


def test_what_has_ended_says_so(db: Database, birds: Keyspace) -> None:
    tx = db.transaction()
    view, rows = tx[birds], iter(tx[birds])
    next(rows)
    tx.commit()
    for call in (tx.commit, tx.savepoint, tx.__enter__, lambda: tx[birds], lambda: view[b"a"], lambda: next(rows)):
        with pytest.raises(skeindb.ClosedError, match="transaction has ended; begin another"):
            call()
    tx.rollback()


def test_an_iterator_ends_with_its_source(db: Database, birds: Keyspace) -> None:
    birds.update({b"%05d" % n: b"" for n in range(1000)})
    with db.snapshot() as snapshot:
        rows, keys = iter(snapshot[birds].items()), iter(snapshot[birds])
        next(rows)
    for call in (lambda: next(rows), lambda: next(keys), lambda: rows.seek(b"a")):
        with pytest.raises(skeindb.ClosedError, match="the snapshot was closed; begin another one"):
            call()
    dropped = iter(birds)
    next(dropped)
    db.drop_keyspace("birds")
    with pytest.raises(skeindb.KeyspaceError, match="was dropped; create it again"):
        list(dropped)


def test_a_memoryview_that_was_released_is_named(birds: Keyspace) -> None:
    released = memoryview(b"goose:grey")
    released.release()
    for call in (lambda: birds[released], lambda: birds.insert(b"a", released)):
        with pytest.raises(ValueError, match="released memoryview"):
            call()


def test_what_is_only_read_or_only_written_says_so(db: Database, birds: Keyspace) -> None:
    with db.snapshot() as snapshot, pytest.raises(TypeError, match="item assignment"):
        snapshot[birds][b"a"] = b""  # type: ignore[index]
    with db.batch() as batch, pytest.raises(TypeError, match="a batch only writes; read the keyspace itself"):
        batch[birds][b"goose:grey"]


def test_objects_of_another_database(db: Database) -> None:
    with skeindb.memory() as other:
        with db.transaction() as tx, pytest.raises(skeindb.InvalidError, match="another database"):
            tx[other][b"a"] = b""
        with db.snapshot() as snapshot, pytest.raises(skeindb.InvalidError, match="another database"):
            snapshot[other][b"a"]
        with pytest.raises(skeindb.InvalidError, match="another database"), db.batch() as batch:
            batch[other][b"a"] = b""


def test_nothing_is_pickled_or_copied(db: Database, birds: Keyspace) -> None:
    for one in (db, birds, iter(birds), birds.keys(), db.transaction(), db.snapshot(), db.batch(), db.stats()):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot (be )?pickle"):
                way(one)
    with pytest.raises(TypeError, match="open the database where you need it"):
        pickle.dumps(birds)
    for error in (skeindb.ConflictError("x"), skeindb.StorageError("y")):
        assert repr(pickle.loads(pickle.dumps(error))) == repr(error)


def test_objects_are_made_by_the_database_alone() -> None:
    for kind in (Database, Keyspace, skeindb.Transaction, skeindb.Snapshot, skeindb.RowIterator):
        with pytest.raises(TypeError):
            kind()


def test_options_that_cannot_be(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"engine": "tape"}, "'memory' or 'disk'|memory"),
        ({"durability": "always"}, "sync"),
        ({"index": "btree"}, "masstree"),
        ({"eviction": "random"}, "allkeys-lru"),
        ({"engine": "disk", "index": "masstree"}, "index"),
        ({"engine": "memory", "cache_bytes": 1 << 20}, "cache_bytes"),
        ({"engine": "disk", "cache_bytes": 1}, "cache"),
        ({"max_snapshots": 0}, "max_snapshots.*1 to 65536"),
        ({"engine": "disk", "max_snapshot_memory": 1}, "max_snapshot_memory"),
        ({"create": False}, "no database"),
    ]
    for options, says in cases:
        with pytest.raises(skeindb.InvalidError, match=says):
            skeindb.open(tmp_path / "db", **options)  # type: ignore[arg-type]
    for options in ({"cache_bytes": "1"}, {"memory_limit": 1.5}, {"engine": 7}):
        with pytest.raises(TypeError):
            skeindb.open(tmp_path / "db", **options)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        skeindb.open(tmp_path / "db", memory_limit=-1)
    with pytest.raises(skeindb.InvalidError, match="never durable"):
        skeindb.open(durability="sync")
    assert not (tmp_path / "db").exists()
    (tmp_path / "file").write_text("text")
    with pytest.raises((skeindb.InvalidError, OSError), match="is a file|Not a directory"):
        skeindb.open(tmp_path / "file")


def test_names_are_those_of_the_library() -> None:
    """Incident: three of eight eviction policies were declared. Consequence: a type checker refused the
    others. Fix: the keywords and their types are written from the table of the library."""

    def known(option: str) -> list[str]:
        with pytest.raises(skeindb.InvalidError) as raised:
            skeindb.open(**{option: "?"})  # type: ignore[arg-type]
        return re.findall(r"`([^`]+)`", str(raised.value))

    policies: list[typing.Any] = known("eviction")
    assert "allkeys-random" in policies and len(policies) > 7
    for policy in policies:
        with skeindb.memory(memory_limit=8 << 20, eviction=policy) as db:
            db[b"k"] = b"v"
    # An `or None` follows the names.
    for function in (skeindb.open, skeindb.memory):
        for option in ("index", "eviction"):
            declared = typing.get_args(typing.get_type_hints(function)[option])[0]
            assert sorted(typing.get_args(declared)) == sorted(known(option))


def test_a_memory_limit_refuses_or_evicts() -> None:
    with skeindb.memory(memory_limit=8 << 20) as db, pytest.raises(skeindb.LimitError, match="limit"):
        for n in range(100_000):
            db[b"%d" % n] = b"v" * 1000
    with skeindb.memory(memory_limit=8 << 20, eviction="allkeys-lru") as db:
        for n in range(20_000):
            db[b"%d" % n] = b"v" * 1000
        assert 0 < len(db) < 20_000 and b"19999" in db


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_snapshots_have_a_limit(tmp_path: Path, engine: Literal["memory", "disk"]) -> None:
    with skeindb.open(tmp_path / "db", engine=engine, max_snapshots=1) as db:
        with db.snapshot(), pytest.raises(skeindb.LimitError, match="raise `max_snapshots`"):
            db.snapshot()
        db.snapshot().close()


def test_memory_for_snapshots_has_a_limit() -> None:
    with skeindb.memory(max_snapshot_memory=10_000) as db:
        db.update({b"%d" % n: b"v" * 100 for n in range(1000)})
        with db.snapshot() as snapshot:
            db.update({b"%d" % n: b"w" * 100 for n in range(1000)})
            with pytest.raises(skeindb.ClosedError, match="10000 bytes.*raise `max_snapshot_memory`"):
                snapshot[db][b"1"]


def test_damage_is_named(tmp_path: Path) -> None:
    with skeindb.open(tmp_path / "db", engine="disk") as db:
        db.update({b"%04d" % n: b"v" * 100 for n in range(2000)})
    data = tmp_path / "db" / "data.skein"
    data.write_bytes(b"\0" * data.stat().st_size)
    with pytest.raises(skeindb.DamageError, match="data.skein"):
        skeindb.open(tmp_path / "db")


def test_the_progress_of_an_opening(reopen: OpenFolder) -> None:
    with reopen() as db:
        db.bulk_load((b"%07d" % n, b"v" * 100) for n in range(20_000))
    seen: list[tuple[int, int]] = []
    with reopen(progress=lambda done, total: seen.append((done, total))) as db:
        assert len(db) == 20_000
    assert seen and all(0 <= done <= total for done, total in seen)
    with pytest.raises(ZeroDivisionError):
        reopen(progress=lambda done, total: 1 // 0)
    with reopen() as db:
        assert len(db) == 20_000
