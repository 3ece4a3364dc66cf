"""Measures skeindb beside lmdb, sqlite3 and shelve.

    pip install lmdb
    python benches/compare.py [--rows N] [--rounds N] [--only NAME ...]

All stores have the same rows, with keys of 16 bytes and values of 100, and work in turn: in every
round each measurement runs in one store after the other, and each round begins with another store.
Tables show the median over the rounds, and in brackets the spread from least to most as a part of
it. A ratio is computed within each round, for the time of day and for the CPU time of all threads.

No write waits for the disk, but those that are named durable. Stores begin what they owe to the
disk behind a measurement, so that it is not counted as another store's.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import random
import shelve
import sqlite3
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import skeindb

BATCH = 100  # rows of a batch, of a range, and of reads that are asked for at once
DURABLE = 200  # transactions that are on disk when they return
CACHE = 256 << 20  # for pages, of the stores that have a cache
FIRST, SECOND = b"v" * 100, b"w" * 100


@dataclass
class Work:
    """The keys of one round."""

    keys: list[bytes]  # in order
    mixed: list[bytes]  # the same ones at random
    again: list[bytes]  # the same ones in another random order
    starts: list[bytes]  # where ranges begin
    changed: list[bytes]  # by transactions, in pairs

    @staticmethod
    def draw(rows: int, draw: random.Random) -> Work:
        keys = [b"user:%011d" % n for n in range(rows)]
        return Work(
            keys,
            draw.sample(keys, rows),
            draw.sample(keys, rows),
            draw.sample(keys, max(rows // 200, 1)),
            draw.sample(keys, rows // 10 * 2),
        )


def parts(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(keys), BATCH):
        yield keys[begin : begin + BATCH]


def pairs(keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The keys in pairs, each with bytes that are new: sqlite does not write a value that is the same."""
    for number in range(0, len(keys) - 1, 2):
        yield keys[number], keys[number + 1], struct.pack(">Q", number + 1)


def exhaust(rows: Iterable[tuple[bytes, bytes]]) -> None:
    for _key, _value in rows:
        pass


class Skein:
    def __init__(self, folder: Path, durable: bool, engine: Any) -> None:
        durability: Any = "sync" if durable else "buffered"
        cache = CACHE if engine == "disk" else None
        self.db = skeindb.open(folder, engine=engine, durability=durability, cache_bytes=cache)

    def load(self, work: Work) -> None:
        self.db.bulk_load((key, FIRST) for key in work.keys)

    def put(self, work: Work) -> None:
        db = self.db
        for key in work.mixed:
            db[key] = FIRST

    def put_batches(self, work: Work) -> None:
        for part in parts(work.again):
            self.db.update([(key, SECOND) for key in part])

    def get(self, work: Work) -> None:
        db = self.db
        for key in work.mixed:
            db[key]

    def get_of_one_moment(self, work: Work) -> None:
        with self.db.snapshot() as snapshot:
            view = snapshot[self.db]
            for key in work.mixed:
                view[key]

    def get_batches(self, work: Work) -> None:
        for part in parts(work.again):
            self.db.get_many(part)

    def ranges(self, work: Work) -> None:
        for start in work.starts:
            exhaust(islice(self.db.items(start=start), BATCH))

    def ranges_of_one_moment(self, work: Work) -> None:
        with self.db.snapshot() as snapshot:
            view = snapshot[self.db]
            for start in work.starts:
                exhaust(islice(view.items(start=start), BATCH))

    def scan(self, _work: Work) -> None:
        with self.db.snapshot() as snapshot:
            exhaust(snapshot[self.db].items())

    def transact(self, work: Work) -> None:
        for one, other, mark in pairs(work.changed):
            with self.db.transaction() as tx:
                view = tx[self.db]
                view[one], view[other] = view[other][8:] + mark, view[one][8:] + mark

    def settle(self) -> None:
        self.db.flush()

    def close(self) -> None:
        self.db.close()


class Lmdb:
    def __init__(self, folder: Path, durable: bool) -> None:
        import lmdb

        folder.mkdir(exist_ok=True)
        # Without `sync` a commit does not wait for the disk, as a write of `buffered` does not.
        self.env = lmdb.open(str(folder), map_size=8 << 30, sync=durable)

    def load(self, work: Work) -> None:
        with self.env.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(((key, FIRST) for key in work.keys), append=True)

    def put(self, work: Work) -> None:
        for key in work.mixed:
            with self.env.begin(write=True) as txn:
                txn.put(key, FIRST)

    def put_batches(self, work: Work) -> None:
        for part in parts(work.again):
            with self.env.begin(write=True) as txn, txn.cursor() as cursor:
                cursor.putmulti([(key, SECOND) for key in part])

    def get(self, work: Work) -> None:
        for key in work.mixed:
            with self.env.begin() as txn:
                txn.get(key)

    def get_of_one_moment(self, work: Work) -> None:
        with self.env.begin() as txn:
            for key in work.mixed:
                txn.get(key)

    def get_batches(self, work: Work) -> None:
        for part in parts(work.again):
            with self.env.begin() as txn, txn.cursor() as cursor:
                cursor.getmulti(part)

    def ranges(self, work: Work) -> None:
        for start in work.starts:
            with self.env.begin() as txn, txn.cursor() as cursor:
                cursor.set_range(start)
                exhaust(islice(cursor, BATCH))

    def ranges_of_one_moment(self, work: Work) -> None:
        with self.env.begin() as txn, txn.cursor() as cursor:
            for start in work.starts:
                cursor.set_range(start)
                exhaust(islice(cursor, BATCH))

    def scan(self, _work: Work) -> None:
        with self.env.begin() as txn, txn.cursor() as cursor:
            exhaust(cursor)

    def transact(self, work: Work) -> None:
        for one, other, mark in pairs(work.changed):
            with self.env.begin(write=True) as txn:
                a, b = txn.get(one), txn.get(other)
                txn.put(one, b[8:] + mark)
                txn.put(other, a[8:] + mark)

    def settle(self) -> None:
        self.env.sync(True)

    def close(self) -> None:
        self.env.close()


class Sqlite:
    GET = "SELECT value FROM rows WHERE key = ?"
    GET_MANY = f"SELECT key, value FROM rows WHERE key IN ({', '.join('?' * BATCH)})"
    PUT = "INSERT OR REPLACE INTO rows VALUES (?, ?)"
    RANGE = "SELECT key, value FROM rows WHERE key >= ? ORDER BY key LIMIT ?"

    def __init__(self, folder: Path, durable: bool) -> None:
        folder.mkdir(exist_ok=True)
        self.db = sqlite3.connect(folder / "db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA cache_size = -{CACHE >> 10}")
        self.db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        self.db.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def put_all(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        self.db.execute("BEGIN")
        self.db.executemany(self.PUT, rows)
        self.db.execute("COMMIT")

    def load(self, work: Work) -> None:
        self.put_all((key, FIRST) for key in work.keys)

    def put(self, work: Work) -> None:
        for key in work.mixed:
            self.db.execute(self.PUT, (key, FIRST))

    def put_batches(self, work: Work) -> None:
        for part in parts(work.again):
            self.put_all([(key, SECOND) for key in part])

    def get(self, work: Work) -> None:
        for key in work.mixed:
            self.db.execute(self.GET, (key,)).fetchone()

    def get_of_one_moment(self, work: Work) -> None:
        self.db.execute("BEGIN")
        self.get(work)
        self.db.execute("COMMIT")

    def get_batches(self, work: Work) -> None:
        for part in parts(work.again):
            found = dict(self.db.execute(self.GET_MANY, part))
            [found.get(key) for key in part]

    def ranges(self, work: Work) -> None:
        for start in work.starts:
            exhaust(self.db.execute(self.RANGE, (start, BATCH)))

    def ranges_of_one_moment(self, work: Work) -> None:
        self.db.execute("BEGIN")
        self.ranges(work)
        self.db.execute("COMMIT")

    def scan(self, _work: Work) -> None:
        exhaust(self.db.execute("SELECT key, value FROM rows ORDER BY key"))

    def transact(self, work: Work) -> None:
        db, update = self.db, "UPDATE rows SET value = ? WHERE key = ?"
        for one, other, mark in pairs(work.changed):
            db.execute("BEGIN IMMEDIATE")
            (a,), (b,) = db.execute(self.GET, (one,)).fetchone(), db.execute(self.GET, (other,)).fetchone()
            db.execute(update, (b[8:] + mark, one))
            db.execute(update, (a[8:] + mark, other))
            db.execute("COMMIT")

    def settle(self) -> None:
        self.db.execute("PRAGMA wal_checkpoint").fetchone()

    def close(self) -> None:
        self.db.close()


class Shelve:
    """It has neither an order nor transactions. Its keys are text, which is made before."""

    @staticmethod
    def module() -> Any:
        """Returns the database below; `dbm.sqlite3` is left out, as it waits for the disk at each write."""
        for name in ("dbm.gnu", "dbm.ndbm", "dbm.dumb"):
            try:
                return importlib.import_module(name)
            except ImportError:
                continue

    def __init__(self, folder: Path, durable: bool) -> None:
        folder.mkdir(exist_ok=True)
        self.db = shelve.Shelf(self.module().open(str(folder / "db"), "c"))
        self.mixed: list[str] = []

    def prepare(self, work: Work) -> None:
        self.mixed = [key.decode() for key in work.mixed]

    def put(self, work: Work) -> None:
        for key in self.mixed:
            self.db[key] = FIRST

    def get(self, work: Work) -> None:
        for key in self.mixed:
            self.db[key]

    def settle(self) -> None:
        self.db.sync()

    def close(self) -> None:
        self.db.close()


STORES: dict[str, Callable[[Path, bool], Any]] = {
    "skeindb, memory": lambda folder, durable: Skein(folder, durable, "memory"),
    "skeindb, disk": lambda folder, durable: Skein(folder, durable, "disk"),
    "lmdb": Lmdb,
    "sqlite3": Sqlite,
    "shelve": Shelve,
}


@dataclass(frozen=True)
class Measurement:
    title: str
    method: str  # of the stores that have it
    operations: Callable[[Work], int]


@dataclass(frozen=True)
class Phase:
    """Measurements one after the other, behind the stores' opening."""

    folder: str
    durable: bool
    measurements: Sequence[Measurement]


def row_count(work: Work) -> int:
    return len(work.keys)


def range_row_count(work: Work) -> int:
    return len(work.starts) * BATCH


def transaction_count(work: Work) -> int:
    return len(work.changed) // 2


PHASES = [
    Phase("loaded", False, [Measurement("load of sorted rows", "load", row_count)]),
    Phase(
        "mixed",
        False,
        [
            Measurement("put, random keys", "put", row_count),
            Measurement(f"put, {BATCH} rows in each transaction", "put_batches", row_count),
            Measurement("get, each by itself", "get", row_count),
            Measurement("get, all of one moment", "get_of_one_moment", row_count),
            Measurement(f"get, {BATCH} keys at once", "get_batches", row_count),
            Measurement(f"range of {BATCH} rows, each by itself", "ranges", range_row_count),
            Measurement(f"range of {BATCH} rows, all of one moment", "ranges_of_one_moment", range_row_count),
            Measurement("all rows in order, of one moment", "scan", row_count),
            Measurement("transaction of two reads and two writes", "transact", transaction_count),
        ],
    ),
    Phase(
        "mixed",
        True,
        [Measurement("the same, durable", "transact", transaction_count)],
    ),
]


@dataclass
class Samples:
    """Seconds for one operation, one for each round."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


Results = dict[tuple[str, str], Samples]  # by measurement and store


def measure_one(store: Any, measurement: Measurement, work: Work, into: Samples) -> None:
    if hasattr(store, "prepare"):
        store.prepare(work)
    call = getattr(store, measurement.method)
    gc.collect()
    gc.disable()
    clock, cpu = time.perf_counter(), time.process_time()
    call(work)
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    gc.enable()
    operations = measurement.operations(work)
    into.clock.append(clock / operations)
    into.cpu.append(cpu / operations)
    store.settle()


def measure_round(names: Sequence[str], work: Work, results: Results) -> None:
    """Runs every measurement in every store, in alternation."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for phase in PHASES:
            if phase.durable:
                work = replace(work, changed=work.changed[: 2 * DURABLE])
            with ExitStack() as stack:
                stores = {
                    name: stack.enter_context(closing(STORES[name](Path(folder, f"{name}-{phase.folder}"), phase.durable)))
                    for name in names
                }
                for measurement in phase.measurements:
                    for name, store in stores.items():
                        if hasattr(store, measurement.method):
                            into = results.setdefault((measurement.title, name), Samples())
                            measure_one(store, measurement, work, into)


def with_spread(samples: Sequence[float], form: str) -> str:
    """Returns the median, and how far the samples are apart."""
    median = statistics.median(samples)
    return f"{median:{form}} ({(max(samples) - min(samples)) / median:.0%})"


def table(names: Sequence[str], results: Results, cell: Callable[[str, str], str]) -> None:
    print("| | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    for title in dict.fromkeys(title for title, _name in results):
        print(f"| {title} | " + " | ".join(cell(title, name) for name in names) + " |")
    print()


def report(names: Sequence[str], results: Results) -> None:
    def rate(title: str, name: str) -> str:
        samples = results.get((title, name))
        return with_spread([1e-3 / second for second in samples.clock], ",.3g") if samples else ""

    print("Thousands of operations (or rows) per second:\n")
    table(names, results, rate)
    for first in (name for name in names if name.startswith("skeindb")):
        others = [name for name in names if not name.startswith("skeindb")]
        for what in ("clock", "cpu"):

            def ratio(title: str, name: str) -> str:
                ours, theirs = results.get((title, first)), results.get((title, name))
                if ours is None or theirs is None:
                    return ""
                each = zip(getattr(theirs, what), getattr(ours, what), strict=True)
                return with_spread([their / our for their, our in each], ".2f")

            print(f"{first}: how many times as fast, by {'the time of day' if what == 'clock' else 'CPU time'}:\n")
            table(others, results, ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures skeindb beside lmdb, sqlite3 and shelve.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=STORES, default=list(STORES), metavar="NAME")
    asked = parser.parse_args()
    results: Results = {}
    for number in range(asked.rounds):
        first = number % len(asked.only)
        work = Work.draw(asked.rows, random.Random(number))
        measure_round(asked.only[first:] + asked.only[:first], work, results)
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"{asked.rows:,} rows, {asked.rounds} rounds; Python {python}, SQLite {sqlite3.sqlite_version}", end="")
    print(f", shelve over {Shelve.module().__name__}" if "shelve" in asked.only else "", end="\n\n")
    report(asked.only, results)


if __name__ == "__main__":
    main()
