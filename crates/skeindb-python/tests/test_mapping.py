"""The mapping protocol of keyspaces and of the database."""

from __future__ import annotations

import array
import time
from collections.abc import Mapping, MutableMapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import skeindb
from skeindb import Database, Keyspace


def test_a_keyspace_is_a_mutable_mapping(birds: Keyspace) -> None:
    assert isinstance(birds, MutableMapping)
    assert birds[b"goose:grey"] == b"Anser anser"
    assert birds.get(b"duck") is None and birds.get(b"duck", 7) == 7
    assert b"swan:mute" in birds and b"duck" not in birds and len(birds) == 3 and birds
    birds[b"duck"] = b"Anas"
    del birds[b"swan:mute"]
    assert list(birds) == [b"duck", b"goose:bean", b"goose:grey"]
    assert list(reversed(birds)) == [b"goose:grey", b"goose:bean", b"duck"]
    assert dict(birds) == dict(birds.items())
    for missing in (lambda: birds[b"swan"], lambda: birds.pop(b"swan"), lambda: birds.__delitem__(b"swan")):
        with pytest.raises(KeyError) as raised:
            missing()
        assert raised.value.args == (b"swan",)


def test_what_changes_a_key_returns_what_it_was_or_is(birds: Keyspace) -> None:
    assert birds.pop(b"goose:grey") == b"Anser anser" and birds.pop(b"goose:grey", None) is None
    assert birds.setdefault(b"goose:grey", b"back") == b"back" and birds.setdefault(b"goose:grey", b"no") == b"back"
    assert birds.popitem() == (b"swan:mute", b"Cygnus olor")
    assert birds.popitem(last=False) == (b"goose:bean", b"Anser fabalis")
    assert birds.remove(b"goose:grey") and not birds.remove(b"goose:grey")
    assert not birds and len(birds) == 0
    with pytest.raises(KeyError):
        birds.popitem()
    with pytest.raises(TypeError, match="at most 2 arguments, got 3"):
        birds.pop(b"a", b"b", b"c")  # type: ignore[call-overload]


def test_conditional_writes(birds: Keyspace) -> None:
    assert birds.increment(b"n") == 1 and birds.increment(b"n", -5) == -4 and birds[b"n"] == b"-4"
    assert birds.compare_and_swap(b"n", b"-4", b"7") and not birds.compare_and_swap(b"n", None, b"8")
    assert birds.compare_and_swap(b"n", b"7", None) and b"n" not in birds
    assert birds.update_with(b"n", lambda old: (old or b"") + b"x") == b"x"
    assert birds.update_with(b"n", lambda old: (old or b"") + b"y") == b"xy"
    assert birds.update_with(b"n", lambda old: None) is None and b"n" not in birds
    with pytest.raises(ZeroDivisionError):
        birds.update_with(b"goose:grey", lambda old: 1 // 0)  # type: ignore[arg-type, return-value]
    assert birds[b"goose:grey"] == b"Anser anser"
    with pytest.raises(ValueError, match="integer"):
        birds.increment(b"goose:grey")


def test_ranges(birds: Keyspace) -> None:
    geese = [(b"goose:bean", b"Anser fabalis"), (b"goose:grey", b"Anser anser")]
    assert list(birds[b"goose":b"h"]) == geese and list(birds[:b"goose:grey"]) == geese[:1]
    assert list(birds.items(prefix=b"goose:", reverse=True)) == geese[::-1]
    assert list(birds.values(start=b"goose:c")) == [b"Anser anser", b"Cygnus olor"]
    assert list(birds.keys(prefix=b"goose:", start=b"goose:c", stop=b"z")) == [b"goose:grey"]
    assert list(birds.keys(start=b"z", stop=b"a")) == [] and list(birds[b"z":b"a"]) == []
    assert list(birds.keys(prefix=b"\xff")) == [] and len(birds.keys(prefix=b"")) == 3
    rows = birds.items(prefix=b"goose:")
    assert len(rows) == 2 and rows and list(rows) == list(rows) and list(reversed(rows)) == geese[::-1]
    assert geese[0] in rows and (b"goose:bean", b"swan") not in rows and (b"swan:mute", b"Cygnus olor") not in rows
    assert b"swan:mute" in birds.keys() and b"swan:mute" not in birds.keys(prefix=b"goose")
    assert b"Cygnus olor" in birds.values() and b"Cygnus" not in birds.values()
    assert not birds.keys(prefix=b"x")
    assert birds.first() == geese[0] and birds.last() == (b"swan:mute", b"Cygnus olor")
    assert birds.next_after(b"goose:bean") == geese[1] and birds.next_before(b"goose:bean") is None
    assert birds.remove_range(prefix=b"goose:") == 2 and list(birds) == [b"swan:mute"]
    del birds[b"a":b"z"]
    assert birds.first() is None
    with pytest.raises(ValueError, match="clear"):
        birds.remove_range()


def test_an_iterator_seeks(birds: Keyspace) -> None:
    keys = iter(birds.keys())
    keys.seek(b"goose:c")
    assert next(keys) == b"goose:grey"
    keys.seek(b"")
    assert next(keys) == b"goose:bean"
    back = iter(birds.keys(prefix=b"goose", reverse=True))
    back.seek(b"goose:c")
    assert list(back) == [b"goose:bean"]
    for key, found in [(b"z", 2), (b"goose", 0), (b"goose:grey", 2)]:
        back.seek(key)
        assert len(list(back)) == found


def test_long_ranges_are_whole(db: Database) -> None:
    numbers = [n.to_bytes(4, "big") for n in range(3000)]
    assert db.bulk_load((key, b"v" * 200) for key in numbers) == 3000
    assert list(db) == numbers and list(db.keys(reverse=True)) == numbers[::-1]
    assert len(db) == 3000 == len(db.items())
    assert db.get_many([numbers[7], b"no", numbers[9]]) == [b"v" * 200, None, b"v" * 200]
    with pytest.raises(skeindb.InvalidError, match="number 1"):
        db.bulk_load([(b"z", b""), (b"a", b"")])
    with pytest.raises(ZeroDivisionError):
        db.bulk_load((b"z%d" % n, b"%d" % (1 // (5 - n))) for n in range(9))
    assert list(db.keys(prefix=b"z")) == [b"z"] + [b"z%d" % n for n in range(5)]


def test_the_database_is_its_default_keyspace(db: Database) -> None:
    db[b"a"] = b"1"
    db.keyspace("birds")[b"a"] = b"2"
    assert db[b"a"] == db.default[b"a"] == b"1" and len(db) == 1 and list(db[b"a":]) == [(b"a", b"1")]
    assert db.keyspaces() == ["birds"] and db.name == "" and db.keyspace("birds").name == "birds"
    birds = db.keyspace("birds")
    db.rename_keyspace("birds", "geese")
    assert birds.name == "geese" and birds[b"a"] == b"2"
    assert db.drop_keyspace("geese") and not db.drop_keyspace("geese")
    with pytest.raises(skeindb.KeyspaceError, match="dropped"):
        birds[b"a"] = b"3"
    with pytest.raises(LookupError, match="birds"):
        db.keyspace("birds", create=False)
    db.clear()
    assert not db


def test_buffers_are_read_and_bytes_returned(birds: Keyspace) -> None:
    big = memoryview(b"0123456789")
    birds[bytearray(b"a")] = big[::2]
    birds[memoryview(b"b")] = array.array("H", [1, 2])
    assert birds[b"a"] == b"02468" and birds[big[:0].tobytes() + b"b"] == array.array("H", [1, 2]).tobytes()
    assert birds.update_with(b"a", lambda old: bytearray(b"new")) == b"new" and type(birds[b"a"]) is bytes
    birds.update([(bytearray(b"c"), b"")])
    assert birds[b"c"] == b""


def test_keys_expire(db: Database) -> None:
    db.insert(b"a", b"", ttl=3600)
    db.insert(b"b", b"", ttl=timedelta(milliseconds=1))
    db.insert_until(b"c", b"", datetime.now(timezone.utc) + timedelta(hours=1))
    db.insert_until(b"d", b"", time.time() - 1)
    while b"b" in db:
        time.sleep(0.001)
    assert list(db) == [b"a", b"c"]
    for ttl in (0, -1, float("nan"), float("inf"), timedelta(0)):
        with pytest.raises(ValueError, match="ttl"):
            db.insert(b"x", b"", ttl=ttl)
    with pytest.raises(TypeError, match="timedelta"):
        db.insert(b"x", b"", ttl="soon")  # type: ignore[arg-type]


def test_batches(db: Database, birds: Keyspace) -> None:
    with db.batch() as batch:
        batch[birds][b"duck"] = b"Anas"
        del batch[birds][b"swan:mute"]
        batch[db].update({b"n": b"3"})
        batch[db].insert(b"m", b"", ttl=60)
        assert len(batch) == 4 and b"duck" not in birds
    assert birds[b"duck"] == b"Anas" and b"swan:mute" not in birds and list(db) == [b"m", b"n"]
    with pytest.raises(ZeroDivisionError), db.batch() as batch:
        batch[db][b"x"] = b""
        1 // 0
    assert b"x" not in db
    refused = db.batch()
    refused[db][b"x"] = b""
    refused[db][b"k" * 70_000] = b""
    with pytest.raises(skeindb.LimitError, match="70000"):
        refused.apply()
    assert b"x" not in db
    with pytest.raises(skeindb.ClosedError, match="batch"):
        batch.apply()


def test_snapshots_show_one_moment(db: Database, birds: Keyspace) -> None:
    with db.snapshot() as before:
        birds.clear()
        db[b"a"] = b"1"
        view = before[birds]
        assert len(view) == 3 and view[b"goose:grey"] == b"Anser anser" and not before[db]
        assert isinstance(view, Mapping) and not isinstance(view, MutableMapping)
        assert list(view.keys(prefix=b"goose")) == [b"goose:bean", b"goose:grey"]
        assert view.get_many([b"swan:mute", b"duck"]) == [b"Cygnus olor", None] and view.last() is not None
    assert before.closed
    with pytest.raises(skeindb.ClosedError, match="snapshot"):
        view[b"goose:grey"]


def test_backups(db: Database, birds: Keyspace, tmp_path: Path) -> None:
    db.insert(b"a", b"1", ttl=3600)
    seen: list[tuple[int, int]] = []
    report = db.backup(tmp_path / "copy", progress=lambda rows, done: seen.append((rows, done)))
    assert report.rows >= 4 and report.bytes > 0 and report.seconds >= 0 and "rows" in repr(report) and seen
    birds.clear()
    with skeindb.open(tmp_path / "copy", create=False) as copy:
        assert len(copy.keyspace("birds", create=False)) == 3 and copy[b"a"] == b"1"
    with pytest.raises(OSError, match="copy"):
        db.backup(tmp_path / "copy")
    with pytest.raises(ZeroDivisionError):
        db.backup(tmp_path / "no", progress=lambda rows, done: 1 // 0)
    assert not (tmp_path / "no").exists()
    before, after = db.compact()
    assert before >= 0 and after >= 0


def test_every_object_has_a_repr(db: Database, birds: Keyspace) -> None:
    birds[b"<b>"] = b"\xff" * 100
    with db.transaction() as tx, db.snapshot() as snapshot:
        objects = [db, birds, tx[birds], snapshot[birds], birds.keys(prefix=b"<"), iter(birds), tx, tx.savepoint(),
                   snapshot, db.batch(), db.batch()[birds], db.stats()]  # fmt: skip
        for one in objects:
            assert "skeindb" in repr(one)
            shown = getattr(one, "_repr_html_", lambda: "<table>")()
            assert shown.startswith("<table>") and "<b>" not in shown
    assert "birds" in repr(birds) and db.engine in repr(db)
    assert "&lt;b&gt;" in birds._repr_html_() and "…" in birds._repr_html_()
    assert db.stats().keys >= 4 and db.stats().keyspaces == ["birds"]
    db.close()
    assert "closed" in repr(db) and "closed" in birds._repr_html_() and "closed" in db._repr_html_()
