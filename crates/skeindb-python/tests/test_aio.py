"""The asyncio variant."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import skeindb
from skeindb import aio


def run(body: Coroutine[Any, Any, None]) -> None:
    asyncio.run(body)


def test_keyspaces_and_ranges(engine: str, tmp_path: Path) -> None:
    async def body() -> None:
        async with aio.open(tmp_path / "db", engine=engine) as db:
            birds = await db.keyspace("birds")
            await birds.insert(b"goose:grey", b"Anser anser")
            await birds.update({b"goose:bean": b"Anser fabalis", b"swan:mute": b"Cygnus olor"})
            assert await birds.get(b"goose:grey") == b"Anser anser" and await birds.get(b"x", 7) == 7
            assert [key async for key in birds.keys(prefix=b"goose:")] == [b"goose:bean", b"goose:grey"]
            assert [row async for row in birds.items(reverse=True)][0] == (b"swan:mute", b"Cygnus olor")
            assert [key async for key in birds] == sorted([key async for key in birds]) and await birds.count() == 3
            assert await birds.contains(b"swan:mute") and await birds.values(prefix=b"s").count() == 1
            assert await birds.pop(b"swan:mute") == b"Cygnus olor" and await birds.pop(b"swan:mute") is None
            assert await birds.first() != await birds.last() and await birds.increment(b"n") == 1
            assert await birds.remove(b"n") and await birds.setdefault(b"n", b"2") == b"2"
            assert await birds.compare_and_swap(b"n", b"2", None) and await birds.remove_range(prefix=b"goose") == 2
            assert await birds.bulk_load((b"%05d" % n, b"") for n in range(3000)) == 3000
            assert [key async for key in birds] == [b"%05d" % n for n in range(3000)]
            assert await db.keyspaces() == ["birds"] and await db.drop_keyspace("birds")
        with pytest.raises(skeindb.ClosedError):
            await db.get(b"x")

    run(body())


def test_transactions_snapshots_and_batches() -> None:
    async def body() -> None:
        db = await aio.open()
        async with db:
            with pytest.raises(ZeroDivisionError):
                async with db.transaction() as tx:
                    await tx[db].insert(b"a", b"")
                    raise ZeroDivisionError
            assert await db.count() == 0
            async with db.batch() as batch:
                batch[db][b"a"] = b"1"
            async with db.snapshot() as before:
                await db.clear()
                assert await before[db].get(b"a") == b"1" and await db.count() == 0

            async def add(tx: aio.Transaction) -> int:
                now = int(await tx[db].get(b"n", b"0"))
                await tx[db].insert(b"n", b"%d" % (now + 1))
                return now

            seen = await asyncio.gather(*(db.run(add) for _ in range(20)))
            assert sorted(seen) == list(range(20)) and await db.get(b"n") == b"20"

            async def rolls_back(tx: aio.Transaction) -> None:
                await tx[db].clear()
                await tx.rollback()

            await db.run(rolls_back)
            assert await db.get(b"n") == b"20"

    run(body())


def test_a_cancelled_task_rolls_its_transaction_back() -> None:
    async def body() -> None:
        async with aio.open() as db:
            began = asyncio.Event()

            async def work() -> None:
                async with db.transaction() as tx:
                    await tx[db].insert(b"a", b"")
                    began.set()
                    await asyncio.sleep(600)

            task = asyncio.create_task(work())
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await db.count() == 0

    run(body())


def test_the_loop_goes_on_beside_a_call(tmp_path: Path) -> None:
    async def body() -> None:
        async with aio.open(tmp_path / "db", durability="sync") as db:
            writes = asyncio.gather(*(db.insert(b"%d" % n, b"") for n in range(50)))
            turns = 0
            while not writes.done():
                await asyncio.sleep(0)
                turns += 1
            await writes
            assert turns > 1 and await db.count() == 50

    run(body())
