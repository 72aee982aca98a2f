"""Files that are nested without end, or that no pattern gets through: an error that says so, and no
traceback.
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.imports import read_own_prompts
from judgewright.runs.imports.bounded import bounded

DEEP = {
    "judge.json": "[" * 60_000,
    "fields.json": '{"a":' * 60_000,
    "judge.yaml": "[" * 5_000,
    "judge.toml": "a = " + "[" * 5_000,
    "sum.py": 'P = "Score {a}"' + ' + "a"' * 20_000,
    "minus.py": "x = " + "-" * 20_000 + "1",
    "calls.py": 'P = "Score {a}"' + '.replace("a", "b")' * 1_000,
    "judge.ipynb": '{"cells":' + "[" * 5_000,
    "judge.j2": "{% if a %}" * 5_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_without_end_is_refused(name: str, tmp_path: Path) -> None:
    """By its name, whatever language it is in."""
    path = tmp_path / name
    path.write_text(DEEP[name], encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(name)):
        read_own_prompts(path)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm")
def test_what_takes_too_long_ends() -> None:
    """Within a pattern that would never end; what comes after it is not disturbed."""
    alarm = signal.getsignal(signal.SIGALRM)
    with pytest.raises(InputError, match="takes more than 0"), bounded(0.2):
        re.match("(a+)+$", "a" * 200 + "b")
    assert signal.getsignal(signal.SIGALRM) == alarm
    with pytest.raises(InputError, match="nested too deeply"), bounded():
        raise RecursionError
