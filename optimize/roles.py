"""In which role a proposal is asked for: what the optimizer model is to do with the prompt, other than "improve it"."""

from __future__ import annotations

from typing import Literal

Role = Literal["rewrite", "tighten", "add", "remove", "merge", "repair"]
"""`repair` starts from a candidate that lowered the loss and broke a guard; `merge` joins two of the archive."""
