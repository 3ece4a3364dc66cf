"""The same database for asyncio: calls run in threads, so the event loop goes on.

    import skeindb.aio

    async with skeindb.aio.open("geese") as db:
        birds = await db.keyspace("birds")
        await birds.insert(b"goose:grey", b"Anser anser")
        async for key, value in birds.items(prefix=b"goose:"):
            print(key, value)

Each object has its counterpart as `sync`. A read of rows in memory takes less time than the change
of threads, so with that engine `db.sync[key]` is the faster read, and delays the loop by nothing.

If a task is cancelled, its call continues in its thread: a cancelled write may be done or not.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from datetime import datetime, timedelta
from itertools import islice
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import skeindb

from ._exceptions import ConflictError

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

__all__ = ["Batch", "Database", "Keyspace", "ReadView", "Rows", "Snapshot", "Transaction", "View", "open"]

_T = TypeVar("_T")
_call = asyncio.to_thread

# Rows that an `async for` takes from its thread at once, first and at most.
_FIRST_ROWS, _ROWS_MOST = 16, 512
# How often `run` tries, and the longest wait before the next attempt in seconds.
_ATTEMPTS, _LONGEST_WAIT = 1000, 0.002


class Rows(Generic[_T]):
    """The keys, values or rows of a range, for `async for`."""

    def __init__(self, sync: skeindb.Rows[_T]) -> None:
        self.sync = sync

    async def __aiter__(self) -> AsyncIterator[_T]:
        rows, size = iter(self.sync), _FIRST_ROWS
        while chunk := await _call(list, islice(rows, size)):
            for row in chunk:
                yield row
            size = min(size * 2, _ROWS_MOST)

    async def count(self) -> int:
        """The number of rows; counting visits each of them."""
        return await _call(len, self.sync)


class ReadView:
    """A keyspace that is only read."""

    def __init__(self, sync: skeindb.ReadView) -> None:
        self.sync = sync

    @property
    def name(self) -> str:
        return self.sync.name

    @overload
    async def get(self, key: Buffer, default: None = None) -> bytes | None: ...
    @overload
    async def get(self, key: Buffer, default: _T) -> bytes | _T: ...
    async def get(self, key: Buffer, default: Any = None) -> Any:
        return await _call(self.sync.get, key, default)

    async def get_many(self, keys: Iterable[Buffer]) -> list[bytes | None]:
        return await _call(self.sync.get_many, keys)

    async def expiry(self, key: Buffer) -> datetime | None:
        """When a key expires, or `None` if it does not; `KeyError` if it is absent."""
        return await _call(self.sync.expiry, key)

    async def contains(self, key: Buffer) -> bool:
        return await _call(self.sync.__contains__, key)

    async def count(self) -> int:
        """The number of keys; counting visits each of them."""
        return await _call(len, self.sync)

    def keys(self, **range_: Any) -> Rows[bytes]:
        """As `skeindb.ReadView.keys`, with its arguments."""
        return Rows(self.sync.keys(**range_))

    def items(self, **range_: Any) -> Rows[tuple[bytes, bytes]]:
        """As `skeindb.ReadView.items`, with its arguments."""
        return Rows(self.sync.items(**range_))

    def values(self, **range_: Any) -> Rows[bytes]:
        """As `skeindb.ReadView.values`, with its arguments."""
        return Rows(self.sync.values(**range_))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.keys().__aiter__()

    async def first(self) -> tuple[bytes, bytes] | None:
        return await _call(self.sync.first)

    async def last(self) -> tuple[bytes, bytes] | None:
        return await _call(self.sync.last)

    def __repr__(self) -> str:
        return f"<skeindb.aio of {self.sync!r}>"


class View(ReadView):
    """A keyspace with its writes."""

    sync: skeindb.View

    def __init__(self, sync: skeindb.View) -> None:
        super().__init__(sync)

    async def insert(self, key: Buffer, value: Buffer, *, ttl: float | timedelta | None = None) -> None:
        await _call(self.sync.insert, key, value, ttl=ttl)

    async def insert_until(self, key: Buffer, value: Buffer, time: datetime | float) -> None:
        await _call(self.sync.insert_until, key, value, time)

    async def expire(self, key: Buffer, ttl: float | timedelta) -> bool:
        return await _call(self.sync.expire, key, ttl)

    async def expire_at(self, key: Buffer, time: datetime | float) -> bool:
        return await _call(self.sync.expire_at, key, time)

    async def persist(self, key: Buffer) -> bool:
        return await _call(self.sync.persist, key)

    async def remove(self, key: Buffer) -> bool:
        return await _call(self.sync.remove, key)

    async def pop(self, key: Buffer) -> bytes | None:
        """Removes a key and returns its value, or `None` if it is absent."""
        return await _call(self.sync.pop, key, None)

    async def popitem(self, last: bool = True) -> tuple[bytes, bytes]:
        return await _call(self.sync.popitem, last)

    async def setdefault(self, key: Buffer, default: Buffer) -> bytes:
        return await _call(self.sync.setdefault, key, default)

    async def update(self, rows: Any) -> None:
        await _call(self.sync.update, rows)

    async def increment(self, key: Buffer, by: int = 1) -> int:
        return await _call(self.sync.increment, key, by)

    async def compare_and_swap(self, key: Buffer, expected: Buffer | None, new: Buffer | None) -> bool:
        return await _call(self.sync.compare_and_swap, key, expected, new)

    async def remove_range(
        self, start: Buffer | None = None, stop: Buffer | None = None, *, prefix: Buffer | None = None
    ) -> int:
        return await _call(self.sync.remove_range, start, stop, prefix=prefix)

    async def clear(self) -> None:
        await _call(self.sync.clear)


class Keyspace(View):
    """A keyspace of a database."""

    sync: skeindb.Keyspace

    def __init__(self, sync: skeindb.Keyspace) -> None:
        super().__init__(sync)

    async def bulk_load(self, rows: Any) -> int:
        return await _call(self.sync.bulk_load, rows)


class Transaction:
    """A transaction: `async with db.transaction() as tx`."""

    sync: skeindb.Transaction

    def __init__(self, begin: Callable[[], skeindb.Transaction]) -> None:
        self._begin = begin

    def __getitem__(self, keyspace: Keyspace) -> View:
        return View(self.sync[keyspace.sync])

    async def commit(self) -> None:
        await _call(self.sync.commit)

    async def rollback(self) -> None:
        await _call(self.sync.rollback)

    async def __aenter__(self) -> Self:
        self.sync = await _call(self._begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _call(self.sync.__exit__, kind, error, traceback)


class Snapshot:
    """A snapshot: `async with db.snapshot() as snapshot`."""

    sync: skeindb.Snapshot

    def __init__(self, take: Callable[[], skeindb.Snapshot]) -> None:
        self._take = take

    def __getitem__(self, keyspace: Keyspace) -> ReadView:
        return ReadView(self.sync[keyspace.sync])

    async def __aenter__(self) -> Self:
        self.sync = await _call(self._take)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _call(self.sync.close)


class Batch:
    """A batch: `async with db.batch() as batch`. Its views are those of `skeindb`: they only collect."""

    def __init__(self, sync: skeindb.Batch) -> None:
        self.sync = sync

    def __getitem__(self, keyspace: Keyspace) -> skeindb.BatchView:
        return self.sync[keyspace.sync]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _call(self.sync.__exit__, kind, error, traceback)


class Database(Keyspace):
    """An open database, which is its default keyspace, too."""

    sync: skeindb.Database

    def __init__(self, sync: skeindb.Database) -> None:
        super().__init__(sync)

    async def keyspace(self, name: str, *, create: bool = True) -> Keyspace:
        return Keyspace(await _call(self.sync.keyspace, name, create=create))

    async def keyspaces(self) -> list[str]:
        return await _call(self.sync.keyspaces)

    async def drop_keyspace(self, name: str) -> bool:
        return await _call(self.sync.drop_keyspace, name)

    async def rename_keyspace(self, name: str, new_name: str) -> None:
        await _call(self.sync.rename_keyspace, name, new_name)

    def transaction(self) -> Transaction:
        return Transaction(self.sync.transaction)

    async def run(self, function: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """As `skeindb.Database.run`, with a coroutine function.

        An exclusive transaction belongs to one thread: `asyncio.to_thread(db.sync.run, function,
        exclusive=True)` runs a plain function with one.
        """
        for attempt in range(_ATTEMPTS):
            async with self.transaction() as transaction:
                answer = await function(transaction)
                try:
                    if not transaction.sync.ended:
                        await transaction.commit()
                    return answer
                except ConflictError:
                    if attempt == _ATTEMPTS - 1:
                        raise
            await asyncio.sleep(random.random() * min(attempt * 1e-5, _LONGEST_WAIT))
        raise AssertionError("the last attempt returns or raises")

    def snapshot(self) -> Snapshot:
        return Snapshot(self.sync.snapshot)

    def batch(self) -> Batch:
        return Batch(self.sync.batch())

    async def flush(self) -> None:
        await _call(self.sync.flush)

    async def checkpoint(self) -> None:
        await _call(self.sync.checkpoint)

    async def backup(self, folder: str | PathLike[str]) -> skeindb.BackupReport:
        return await _call(self.sync.backup, folder)

    async def close(self) -> None:
        await _call(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class _Opening:
    """An opening that is awaited, or entered by `async with`."""

    def __init__(self, path: str | PathLike[str] | None, options: dict[str, Any]) -> None:
        self._path, self._options = path, options
        self._opened: Database | None = None

    async def _open(self) -> Database:
        return Database(await _call(skeindb.open, self._path, **self._options))

    def __await__(self) -> Generator[Any, None, Database]:
        return self._open().__await__()

    async def __aenter__(self) -> Database:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


def open(path: str | PathLike[str] | None = None, **options: Any) -> _Opening:
    """Opens a database, with the arguments of `skeindb.open`: await it, or use it in `async with`."""
    return _Opening(path, options)
