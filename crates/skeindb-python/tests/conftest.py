"""Databases of every kind for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import skeindb

OpenFolder = Callable[..., skeindb.Database]


@pytest.fixture(params=["memory", "disk"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def reopen(tmp_path: Path, engine: str) -> OpenFolder:
    """Opens the test's folder with an engine, each time anew."""

    def open_folder(**options: object) -> skeindb.Database:
        return skeindb.open(tmp_path / "db", engine=engine, **options)  # type: ignore[arg-type]

    return open_folder


@pytest.fixture(params=["memory", "disk", "no folder"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[skeindb.Database]:
    """An empty database."""
    opened = skeindb.memory() if request.param == "no folder" else skeindb.open(tmp_path / "db", engine=request.param)
    with opened:
        yield opened


@pytest.fixture
def birds(db: skeindb.Database) -> skeindb.Keyspace:
    """A keyspace with three birds."""
    birds = db.keyspace("birds")
    birds.update({b"goose:bean": b"Anser fabalis", b"goose:grey": b"Anser anser", b"swan:mute": b"Cygnus olor"})
    return birds
