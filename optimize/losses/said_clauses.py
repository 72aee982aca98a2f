"""Clauses about what a judge says and to what: `it says yes too often`."""

from __future__ import annotations

import re
from dataclasses import replace

from .clause import NO_POLARITY, NotRead
from .lexicon import Token
from .objective import Direction
from .polarity import Polarity


def commands(token: Token) -> bool:
    """Whether a verb that begins a clause tells the judge to do so: `accept wrong answers`, not
    `accepts`.
    """
    word = token.word.split()[0]
    return word in ("pass", "miss") or not word.endswith(("s", "ed", "ing"))


def said_wrongly(plain: list[Token], marks: str) -> Direction | None:
    """Read `it says yes too often`, `it says no where people say yes`."""
    unwanted = bool(set(marks) & set("XT"))
    wrongly = re.fullmatch(r"[XT]?(?:yH+n|nH+y)", marks) is not None and (
        unwanted or not commands(plain[0])
    )
    often = re.fullmatch(r"T[yn]|X?[yn]T", marks) is not None
    if not wrongly and not often:
        return None
    return "fp" if marks.lstrip("XT")[0] == "y" else "fn"


def in_classes(plain: list[Token], polarity: Polarity | None) -> list[Token]:
    """Write `say yes` as calling good or bad, as the judge's yes is one or the other.

    Raises:
        NotRead: The judge does not say.
    """
    if polarity is None:
        raise NotRead(NO_POLARITY)
    called = {"y": "J", "n": "K"} if polarity.positive == "good" else {"y": "K", "n": "J"}
    return [replace(token, symbol=called.get(token.symbol, token.symbol)) for token in plain]
