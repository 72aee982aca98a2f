"""In which role a proposal is asked for: what the optimizer model is to do with the prompt, other than "improve it"."""

from __future__ import annotations

from typing import Literal

Role = Literal["rewrite", "tighten", "add", "remove"]
TURNS: tuple[Role | None, ...] = (None, "add", "tighten", "remove", "rewrite")
"""Roles by turns; None asks for any change."""


def role_of(number: int) -> Role | None:
    """Return the role of a proposal, by its number in the run, from 1."""
    return TURNS[(number - 1) % len(TURNS)]
