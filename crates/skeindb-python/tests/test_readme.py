"""The programs of the README run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
def test_a_program_of_the_readme(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
