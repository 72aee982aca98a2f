"""What the tests of imports share: the environments in which the tools are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

ENVIRONMENTS = Path(__file__).resolve().parents[3] / ".verify"


@pytest.fixture
def python_with():
    """Return the Python that has a tool; skips aloud where it is not installed."""

    def find(tool: str) -> str:
        python = ENVIRONMENTS / tool / "bin/python"
        if not python.exists():
            pytest.skip(f"{tool} is not installed: make verify-exports")
        return str(python)

    return find
