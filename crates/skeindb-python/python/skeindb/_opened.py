"""The open databases of this interpreter, which closes them when it ends."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from os import PathLike

from . import _skeindb
from ._exceptions import Error, ForkedError
from ._skeindb import Database

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


def open_with(
    path: str | PathLike[str] | None,
    progress: Callable[[int, int], object] | None,
    **options: str | int | None,
) -> Database:
    """Opens a database; None stands for the default of an option."""
    db = _skeindb.open(path, progress, options)
    _opened.add(db)
    return db
