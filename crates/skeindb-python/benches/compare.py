"""Measures skeindb beside lmdb, sqlite3 and shelve: ratios within one run.

    pip install lmdb
    python benches/compare.py [ROWS]

Every store has the same rows, with keys of 16 bytes and values of 100, in a folder of its own:

put, random            a call for each key, which does not wait for the disk
get, random            a call for each key
range of 100 rows      behind random keys; rows are counted
transaction, durable   two rows are read and changed, and on disk when the transaction returns
load, sorted           all rows at once
"""

from __future__ import annotations

import random
import shelve
import sqlite3
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import skeindb

VALUE = b"v" * 100
SYNCED = 200  # transactions that are durable when they return
TIMES = 3  # the best of so many measurements counts


def pairs(keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The keys in pairs, each with bytes that are new: sqlite does not write a value that is the same."""
    for number in range(0, len(keys) - 1, 2):
        yield keys[number], keys[number + 1], struct.pack(">Q", number + 1)


class Skein:
    def __init__(self, folder: Path, engine: Any) -> None:
        self.db = skeindb.open(folder, engine=engine)

    def put(self, keys: Sequence[bytes]) -> None:
        db = self.db
        for key in keys:
            db[key] = VALUE

    def get(self, keys: Sequence[bytes]) -> None:
        db = self.db
        for key in keys:
            db[key]

    def scan(self, starts: Sequence[bytes], rows: int) -> None:
        for start in starts:
            found = 0
            for _key, _value in self.db.items(start=start):
                found += 1
                if found == rows:
                    break

    def load(self, keys: Sequence[bytes]) -> None:
        self.db.bulk_load((key, VALUE) for key in keys)

    def transact(self, keys: Sequence[bytes]) -> None:
        for one, other, mark in pairs(keys):
            with self.db.transaction(durability="sync") as tx:
                view = tx[self.db]
                view[one], view[other] = view[other][8:] + mark, view[one][8:] + mark

    def close(self) -> None:
        self.db.close()


class Lmdb:
    def __init__(self, folder: Path) -> None:
        import lmdb

        folder.mkdir()
        # Without `sync` a commit does not wait for the disk, as a write of `buffered` does not.
        self.env = lmdb.open(str(folder), map_size=8 << 30, sync=False)

    def put(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            with self.env.begin(write=True) as txn:
                txn.put(key, VALUE)

    def get(self, keys: Sequence[bytes]) -> None:
        with self.env.begin() as txn:
            for key in keys:
                txn.get(key)

    def scan(self, starts: Sequence[bytes], rows: int) -> None:
        with self.env.begin() as txn, txn.cursor() as cursor:
            for start in starts:
                cursor.set_range(start)
                found = 0
                for _key, _value in cursor:
                    found += 1
                    if found == rows:
                        break

    def load(self, keys: Sequence[bytes]) -> None:
        with self.env.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(((key, VALUE) for key in keys), append=True)

    def transact(self, keys: Sequence[bytes]) -> None:
        for one, other, mark in pairs(keys):
            with self.env.begin(write=True) as txn:
                a, b = txn.get(one), txn.get(other)
                txn.put(one, b[8:] + mark)
                txn.put(other, a[8:] + mark)
            self.env.sync(True)

    def close(self) -> None:
        self.env.close()


class Sqlite:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.path = folder / "db"
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA cache_size = -262144")
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def put(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (key, VALUE))

    def get(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.db.execute("SELECT value FROM rows WHERE key = ?", (key,)).fetchone()

    def scan(self, starts: Sequence[bytes], rows: int) -> None:
        for start in starts:
            select = "SELECT key, value FROM rows WHERE key >= ? ORDER BY key LIMIT ?"
            for _key, _value in self.db.execute(select, (start, rows)):
                pass

    def load(self, keys: Sequence[bytes]) -> None:
        self.db.execute("BEGIN")
        self.db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", ((key, VALUE) for key in keys))
        self.db.execute("COMMIT")

    def transact(self, keys: Sequence[bytes]) -> None:
        # Another connection, which waits for the disk.
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA synchronous = FULL")
        select, update = "SELECT value FROM rows WHERE key = ?", "UPDATE rows SET value = ? WHERE key = ?"
        for one, other, mark in pairs(keys):
            db.execute("BEGIN IMMEDIATE")
            (a,), (b,) = db.execute(select, (one,)).fetchone(), db.execute(select, (other,)).fetchone()
            db.execute(update, (b[8:] + mark, one))
            db.execute(update, (a[8:] + mark, other))
            db.execute("COMMIT")
        db.close()

    def close(self) -> None:
        self.db.close()


class Shelve:
    """It has neither an order nor transactions."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.db = shelve.open(str(folder / "db"))  # noqa: SIM115

    def put(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.db[key.decode("latin-1")] = VALUE

    def get(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.db[key.decode("latin-1")]

    def close(self) -> None:
        self.db.close()


STORES: dict[str, Callable[[Path], Any]] = {
    "skeindb, memory": lambda folder: Skein(folder, "memory"),
    "skeindb, disk": lambda folder: Skein(folder, "disk"),
    "lmdb": Lmdb,
    "sqlite3": Sqlite,
    "shelve": Shelve,
}


@contextmanager
def opened(make: Callable[[Path], Any]) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        store = make(Path(folder) / "store")
        try:
            yield store
        finally:
            store.close()


def seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(make: Callable[[Path], Any], rows: int, draw: random.Random) -> dict[str, float]:
    """Returns the operations per second of one store."""
    keys = [struct.pack(">Q8s", n, b"key") for n in range(rows)]
    mixed = draw.sample(keys, rows)
    starts = draw.sample(keys, max(rows // 200, 1))
    rates: dict[str, float] = {}
    with opened(make) as store:
        rates["put, random"] = rows / seconds(lambda: store.put(mixed))
        rates["get, random"] = rows / seconds(lambda: store.get(mixed[::-1]))
        if hasattr(store, "scan"):
            rates["range of 100 rows"] = len(starts) * 100 / seconds(lambda: store.scan(starts, 100))
            rates["transaction, durable"] = SYNCED / seconds(lambda: store.transact(mixed[: 2 * SYNCED]))
    if "range of 100 rows" in rates:
        with opened(make) as store:
            rates["load, sorted"] = rows / seconds(lambda: store.load(keys))
    return rates


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    best: dict[str, dict[str, float]] = {name: {} for name in STORES}
    for turn in range(TIMES):
        # In turn, so that a busy moment of the machine does not meet one store alone.
        for name, make in STORES.items():
            for what, rate in measure(make, rows, random.Random(turn)).items():
                best[name][what] = max(rate, best[name].get(what, 0))
    print(f"{rows:,} rows; thousands of operations (or rows) per second, the best of {TIMES}\n")
    print("| | " + " | ".join(STORES) + " |")
    print("| --- |" + " ---: |" * len(STORES))
    for what in best["skeindb, memory"]:
        rates = [best[name].get(what) for name in STORES]
        print(f"| {what} | " + " | ".join("" if rate is None else f"{rate / 1000:,.2f}" for rate in rates) + " |")


if __name__ == "__main__":
    main()
