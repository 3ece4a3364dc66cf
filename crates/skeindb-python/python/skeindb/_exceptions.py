"""The exceptions of skeindb. All are subclasses of `Error`."""


class Error(Exception):
    """The base of all exceptions of this package."""


class ConflictError(Error):
    """Another write changed rows or ranges that a transaction had read. Begin it again, or use `Database.run`."""


class ClosedError(Error):
    """The database was closed, or a transaction, snapshot or batch has ended."""


class ForkedError(ClosedError):
    """The database was opened before this process was forked. Open one in the child."""


class KeyspaceError(Error, LookupError):
    """A keyspace is absent, was dropped, or exists already."""


class InvalidError(Error, ValueError):
    """An argument or an option is wrong in itself."""


class LimitError(Error, ValueError):
    """A key, a value or an amount is beyond a limit."""


class KindError(Error, TypeError):
    """The key holds something else than a value: columns or a set, which a server wrote."""


class LockedError(Error):
    """Another process, or another handle of this one, has opened the folder."""


class StorageError(Error, OSError):
    """A file operation failed, the disk is full, or writes are stopped after a failure."""


class DamageError(Error):
    """A file is damaged, or of a format that this version does not know."""
