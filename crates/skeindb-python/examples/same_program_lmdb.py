"""The program of `docs/comparison.md` with LMDB."""

import sys
from itertools import takewhile

import lmdb


def run(path: str) -> list[str]:
    """Adds two users and their places in an index, and returns the index's keys for London."""
    with lmdb.open(path, map_size=1 << 30, max_dbs=2) as env:
        users, by_city = env.open_db(b"users"), env.open_db(b"by_city")
        with env.begin(write=True) as write:
            for key, value in {b"u1": b"Ada", b"u2": b"Alan"}.items():
                write.put(key, value, db=users)
            for key in (b"London/u1", b"London/u2"):
                write.put(key, b"", db=by_city)
        with env.begin() as read, read.cursor(by_city) as cursor:
            assert read.get(b"u1", db=users) == b"Ada"
            keys = cursor.iternext(values=False) if cursor.set_range(b"London/") else iter(())
            return [key.decode() for key in takewhile(lambda key: key.startswith(b"London/"), keys)]


if __name__ == "__main__":
    print("\n".join(run(sys.argv[1] if len(sys.argv) > 1 else "geese-lmdb")))
