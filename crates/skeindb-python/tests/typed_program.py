"""A program that uses the types; `test_types` has mypy check it, and runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping

import skeindb
from skeindb import aio


def longest(mapping: MutableMapping[bytes, bytes]) -> bytes:
    return max(mapping.values(), key=len, default=b"")


def names(db: skeindb.Database) -> Iterator[str]:
    birds: skeindb.Keyspace = db.keyspace("birds")
    birds[b"goose:grey"] = bytearray(b"Anser anser")
    birds.update({b"goose:bean": b"Anser fabalis"})
    missing: bytes | None = birds.get(b"swan")
    assert missing is None and birds.get(b"swan", 7) == 7
    for key, value in birds.items(prefix=b"goose:", reverse=True):
        yield f"{key.decode()}: {value.decode()}"
    rows: skeindb.Rows[tuple[bytes, bytes]] = birds[b"a":b"h"]
    yield str(len(rows))
    yield longest(birds).decode()


def count(tx: skeindb.Transaction, keyspace: skeindb.Keyspace) -> int:
    return tx[keyspace].increment(b"visits")


async def asynchronous() -> int:
    async with aio.open() as db:
        await db.insert(b"a", b"1", ttl=60.0)
        return len([key async for key in db.keys()])


def main() -> list[str]:
    with skeindb.open() as db:
        found = list(names(db))
        visits: int = db.run(lambda tx: count(tx, db))
        with db.transaction() as tx, tx.savepoint():
            tx[db].insert(b"n", b"1")
        with db.snapshot() as snapshot:
            view: skeindb.ReadView = snapshot[db]
            found.append(str(len(view) + visits))
        with db.batch() as batch:
            batch[db][b"m"] = memoryview(b"2")
        stats: skeindb.Stats = db.stats()
        found.append(stats.engine)
    try:
        db.flush()
    except skeindb.ClosedError as error:
        found.append(str(error))
    found.append(str(asyncio.run(asynchronous())))
    return found


if __name__ == "__main__":
    print(main())
