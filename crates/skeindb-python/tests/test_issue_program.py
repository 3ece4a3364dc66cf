"""The program that the library promised from the beginning, as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = '''
import skeindb
with skeindb.open("geese", engine="disk") as db:
    birds = db.keyspace("birds")
    birds[b"goose:grey"] = b"Anser anser"
    birds.update({b"goose:bean": b"Anser fabalis", b"swan:mute": b"Cygnus olor"})
    assert list(birds.keys(prefix=b"goose:")) == [b"goose:bean", b"goose:grey"]
    assert next(iter(birds.items(reverse=True))) == (b"swan:mute", b"Cygnus olor")
    try:
        with db.transaction() as tx:
            del tx[birds][b"swan:mute"]
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert b"swan:mute" in birds and len(birds) == 3
    db.backup("copy")
'''


def test_the_program_runs(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = PROGRAM.replace('engine="disk"', f'engine="{engine}"')
    exec(compile(program, "program", "exec"), {})

    import skeindb

    with skeindb.open("copy", create=False) as copy:
        assert copy.engine == engine
        assert dict(copy.keyspace("birds", create=False).items()) == {
            b"goose:bean": b"Anser fabalis",
            b"goose:grey": b"Anser anser",
            b"swan:mute": b"Cygnus olor",
        }
