"""Opening, with the options of the library.

Written from their table by a test: SKEIN_WRITE_DOCS=1 cargo test -p skeindb --test db options
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Literal

from ._opened import open_with
from ._skeindb import Database


def open(
    path: str | PathLike[str] | None = None,
    *,
    engine: Literal["memory", "disk"] | None = None,
    durability: Literal["none", "buffered", "sync"] | None = None,
    index: Literal[
        "masstree",
        "wormhole",
        "cuckoo-trie",
        "mlp",
        "skip-list",
        "page-tree",
    ]
    | None = None,
    cache_bytes: int | None = None,
    memory_limit: int | None = None,
    eviction: Literal[
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "noeviction",
    ]
    | None = None,
    max_snapshots: int | None = None,
    max_snapshot_memory: int | None = None,
    create: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Database:
    """Opens the database in the folder `path`, or creates it there.

    Without a path the database is in memory alone and ends with the process: for tests and caches.

    A value that an option cannot have raises `InvalidError`, and so does a missing database that is not
    created. Later, a write or a snapshot at its limit raises `LimitError`, and a read of a snapshot that
    ended `ClosedError`.

    engine: Chooses the engine: `memory` keeps all rows in memory, with logs and checkpoints in the
        folder, and `disk` keeps them on pages of a file. By default a folder keeps its engine, and
        a new one gets `memory`.
    durability: Chooses the promise of a write that has returned. `buffered`, the default: it is on
        disk within 200 ms. `sync`: it survives a power cut. `none`: a checkpoint or closing writes
        it. It may differ between openings.
    index: Chooses the index of the engine in memory; `masstree` by default. It may differ between
        openings.
    cache_bytes: Sets the memory for pages of the disk engine in bytes; 256 MiB by default. From
        65536 on.
    memory_limit: Sets a limit for the memory of the engine in memory, in bytes; there is none by
        default. At the limit, writes that add memory are refused, or keys are evicted, as
        `eviction` says.
    eviction: Chooses which keys are evicted at `memory_limit`; none by default. The names are those
        of Redis's `maxmemory-policy`.
    max_snapshots: Sets how many snapshots may live at a time, those of transactions and iterators
        over them included. One more is an error that names this option. By default as many as there
        can be. From 1 to 65536.
    max_snapshot_memory: Sets how much memory the engine in memory may keep for snapshots, in bytes:
        the rows that were replaced or removed while a snapshot lives that shows them. Over it the
        oldest snapshot ends, and each read of it is an error that names this option. The default is
        a quarter of `memory_limit`; without that limit, snapshots are unlimited, too.
    create: Sets whether a missing folder is created; it is by default.
    progress: called with the bytes that were read and those to read, ten times a second, and at the
        end. If it raises an exception, the opening is cancelled.
    """
    return open_with(
        path,
        progress,
        engine=engine,
        durability=durability,
        index=index,
        cache_bytes=cache_bytes,
        memory_limit=memory_limit,
        eviction=eviction,
        max_snapshots=max_snapshots,
        max_snapshot_memory=max_snapshot_memory,
        create=create,
    )


def memory(
    *,
    index: Literal[
        "masstree",
        "wormhole",
        "cuckoo-trie",
        "mlp",
        "skip-list",
        "page-tree",
    ]
    | None = None,
    memory_limit: int | None = None,
    eviction: Literal[
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "noeviction",
    ]
    | None = None,
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
