"""An ordered key-value database in your process, in memory or on disk.

    import skeindb

    with skeindb.open("geese") as db:
        birds = db.keyspace("birds")
        birds[b"goose:grey"] = b"Anser anser"
        for key, value in birds.items(prefix=b"goose:"):
            print(key, value)

Keys and values are bytes; keys are in the order of their bytes. A keyspace is a mapping, and a
database is its default keyspace. All objects may be used by any thread.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Mapping, MutableMapping
from importlib.metadata import version
from os import PathLike
from typing import Literal

from ._exceptions import (
    ClosedError,
    ConflictError,
    DamageError,
    Error,
    ForkedError,
    InvalidError,
    KeyspaceError,
    KindError,
    LimitError,
    LockedError,
    StorageError,
)
from ._skeindb import (
    BackupReport,
    Batch,
    BatchView,
    Database,
    Keyspace,
    ReadView,
    RowIterator,
    Rows,
    Savepoint,
    Snapshot,
    Stats,
    Transaction,
    View,
)
from ._skeindb import open as _open

__all__ = [
    "BackupReport",
    "Batch",
    "BatchView",
    "ClosedError",
    "ConflictError",
    "DamageError",
    "Database",
    "Error",
    "ForkedError",
    "InvalidError",
    "Keyspace",
    "KeyspaceError",
    "KindError",
    "LimitError",
    "LockedError",
    "ReadView",
    "RowIterator",
    "Rows",
    "Savepoint",
    "Snapshot",
    "Stats",
    "StorageError",
    "Transaction",
    "View",
    "memory",
    "open",
]

__version__ = version("skeindb")

Mapping.register(ReadView)
MutableMapping.register(View)

# Python does not promise to destroy objects when it ends, and buffered writes need a close.
_opened: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    failed: Error | None = None
    for db in list(_opened):
        try:
            db.close()
        except ForkedError:
            # In a forked child they belong to the parent.
            pass
        except Error as error:
            # The others are closed before it is raised.
            failed = failed or error
    if failed is not None:
        raise failed


def open(
    path: str | PathLike[str] | None = None,
    *,
    engine: Literal["memory", "disk"] | None = None,
    durability: Literal["sync", "buffered", "none"] | None = None,
    index: Literal["masstree", "wormhole", "cuckoo-trie", "mlp", "skip-list"] | None = None,
    cache_bytes: int | None = None,
    memory_limit: int | None = None,
    eviction: str | None = None,
    max_snapshots: int | None = None,
    max_snapshot_memory: int | None = None,
    create: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Database:
    """Opens the database in the folder `path`, or creates it there.

    Without a path the database is in memory alone and ends with the process: for tests and caches.

    engine: "memory" keeps all rows in memory, with logs and checkpoints in the folder; "disk" keeps
        them on pages of a file. By default a folder keeps its engine, and a new one gets "memory".
    durability: the promise of a write that has returned. "buffered", the default: it is on disk
        within 200 ms. "sync": it survives a power cut. "none": `checkpoint` and `close` write it.
    index: the index of the engine in memory.
    cache_bytes: memory for pages of the engine on disk; 256 MiB by default.
    memory_limit: the most memory of the engine in memory. At the limit writes raise `LimitError`, or
        keys are evicted as `eviction` says.
    eviction: a policy of Redis's `maxmemory-policy`, such as "allkeys-lru" or "volatile-ttl". The error
        for an unknown name lists all.
    max_snapshots: the most snapshots and transactions at a time; one more raises `LimitError`. At most
        65,536, which is the default.
    max_snapshot_memory: the most bytes that the engine in memory keeps for snapshots: rows that were
        replaced or removed. Over it the oldest snapshot ends, and reading it raises `ClosedError`. By
        default a quarter of `memory_limit`.
    create: whether a missing database is created; otherwise `InvalidError` is raised.
    progress: called with the bytes that were read and those to read, ten times a second, and at the
        end. If it raises an exception, the opening is cancelled.
    """
    db = _open(
        path,
        engine=engine,
        durability=durability,
        index=index,
        cache_bytes=cache_bytes,
        memory_limit=memory_limit,
        eviction=eviction,
        max_snapshots=max_snapshots,
        max_snapshot_memory=max_snapshot_memory,
        create=create,
        progress=progress,
    )
    _opened.add(db)
    return db


def memory(
    *,
    index: Literal["masstree", "wormhole", "cuckoo-trie", "mlp", "skip-list"] | None = None,
    memory_limit: int | None = None,
    eviction: str | None = None,
    max_snapshots: int | None = None,
    max_snapshot_memory: int | None = None,
) -> Database:
    """Opens an empty database that is in memory alone; see `open`."""
    return open(
        index=index,
        memory_limit=memory_limit,
        eviction=eviction,
        max_snapshots=max_snapshots,
        max_snapshot_memory=max_snapshot_memory,
    )
