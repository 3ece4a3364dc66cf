"""The types: mypy accepts the package and a program that uses it, and the stubs tell the truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typed_program import main

TESTS = Path(__file__).parent


def check(tmp_path: Path, *command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_runs() -> None:
    assert main() == [
        "goose:grey: Anser anser",
        "goose:bean: Anser fabalis",
        "2",
        "Anser fabalis",
        "3",
        "memory",
        "the database is closed; open it again",
        "1",
    ]


def test_mypy_accepts_the_package_and_the_program(tmp_path: Path) -> None:
    for what in (["-p", "skeindb"], [str(TESTS / "typed_program.py")]):
        check(tmp_path, "mypy", "--strict", "--python-version", "3.10", *what)


def test_mypy_rejects_text_as_a_key(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import skeindb\ndb = skeindb.open()\ndb["text"] = b""\ndb.get(7)\n')
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", wrong], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "wrong.py:3" in done.stdout and "wrong.py:4" in done.stdout, done.stdout


def test_the_stubs_are_those_of_the_module(tmp_path: Path) -> None:
    check(tmp_path, "mypy.stubtest", "skeindb._skeindb")
