"""What holds for every test."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether the code is right. Tests that
# name health checks of their own replace this list; none of theirs has been slow to draw.
settings.register_profile(
    "judgewright", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("judgewright")

FIGURES = os.environ.get("JUDGEWRIGHT_FAULTS")
"""The file that `make faults` collects the figures of faults in; tests then repeat a fault more
often.
"""


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say what a test of a fault counted, for docs/reliability.md; kept only where `make faults`
    runs it.
    """

    def keep(figures: str) -> None:
        if FIGURES is not None:
            line = {
                "test": request.node.originalname,
                "case": request.node.name,
                "measured": figures,
            }
            with Path(FIGURES).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    return keep


@pytest.fixture
def nightly() -> bool:
    """Whether a fault is to be repeated as often as `make faults` does."""
    return FIGURES is not None and "JUDGEWRIGHT_FEW" not in os.environ
