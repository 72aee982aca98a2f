"""What the demo does: the options of `optimize`, for `judgewright demo` and the page's button."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...judges import JudgePrompt

OBJECTIVE = (
    "Precision matters most: do not call unsupported statements grounded. Do not lose more than 10"
    " points of recall."
)
DEMO_OPTIONS = (
    f"--objective={OBJECTIVE}",
    "--proposer=study,textgrad",
    "--steps=3",
    "--by=channel",
    "--model=simulated",
    "--yes",
)
JUDGE = "groundedness"
"""The judge of the demo."""


def judge_for_trying(shipped: JudgePrompt) -> JudgePrompt:
    """Return the demo's judge under a name of its own, for a workspace that has other work too:
    what is accepted there changes no judge that is meant.
    """
    return replace(shipped, name=f"{JUDGE}_demo")
