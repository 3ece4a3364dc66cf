"""The program of `docs/comparison.md` with SkeinDB."""

import sys

import skeindb


def run(path: str) -> list[str]:
    """Adds two users and their places in an index, and returns the index's keys for London."""
    with skeindb.open(path, durability="sync") as db:
        users, by_city = db.keyspace("users"), db.keyspace("by_city")
        with db.transaction() as tx:
            tx[users].update({b"u1": b"Ada", b"u2": b"Alan"})
            tx[by_city].update({b"London/u1": b"", b"London/u2": b""})
        assert users[b"u1"] == b"Ada"
        return [key.decode() for key in by_city.keys(prefix=b"London/")]


if __name__ == "__main__":
    print("\n".join(run(sys.argv[1] if len(sys.argv) > 1 else "geese-skeindb")))
