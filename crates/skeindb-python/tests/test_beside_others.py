"""What the repository runs beside other stores: the programs of `docs/comparison.md`, and the bench."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


@pytest.mark.parametrize("store", ["skeindb", "lmdb"])
def test_the_same_program_gives_the_same_answer(store: str, tmp_path: Path) -> None:
    program = runpy.run_path(str(PACKAGE / "examples" / f"same_program_{store}.py"))
    assert program["run"](str(tmp_path / "db")) == ["London/u1", "London/u2"]


def test_the_bench_measures_every_store(tmp_path: Path) -> None:
    bench = [sys.executable, PACKAGE / "benches" / "compare.py", "--rows", "400", "--rounds", "2"]
    done = subprocess.run(bench, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")]
    measured = [line for line in lines[2:13] if len(line) == 6]
    assert len(measured) == 11, done.stdout
    # shelve has neither an order nor transactions; every other store measures everything.
    assert all("%" in cell for line in measured for cell in line[1:5]), done.stdout
    assert not any(tmp_path.iterdir()), "nothing stays"
