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

from collections.abc import Mapping, MutableMapping
from importlib.metadata import version

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
from ._options import memory, open
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
