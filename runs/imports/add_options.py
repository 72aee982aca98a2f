"""What a person says about a prompt that is added; each field is also an option of `judges add`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ...optimize.options import option
from ..config.command_options import pairs_option

_data = partial(option, "Data")
_judging = partial(option, "Judging")


@dataclass(frozen=True, kw_only=True)
class AddOptions:
    """What the user says about a prompt."""

    name: str | None = _data(
        None, "What to call the judge [default: the file's name].", flag="--as"
    )
    fields: Mapping[str, str] = pairs_option(
        "Data",
        "What to call a field, or a mark in the text such as [REPLY] [default: its name].",
        flag="--field",
        metavar="THEIRS=OURS",
    )
    fills: Mapping[str, str] = pairs_option(
        "Data",
        "The text of a field that is no row's; =@FILE reads it.",
        flag="--fill",
        metavar="THEIRS=TEXT",
        kind="texts",
    )
    labels: tuple[str, ...] = _judging(
        (), "The labels of its answer, the worst first, such as FAIL,PASS.", kind="labels"
    )
    choice: bool = _judging(False, "The labels have no order.")
    scale: str | None = _judging(
        None,
        "LOW..HIGH@THRESHOLD, binary or probability; 6..1 where 1 is the best, low-probability@0.3"
        " where low is good and 0.3 still passes.",
    )
    threshold: str | None = _judging(
        None,
        "The worst grade or label of a reply with which a row is positive [default: the middle;"
        " above it, of labels].",
    )
    verdict: str | None = _judging(
        None,
        "Where the verdict stands in an answer: 'Score: ...', '[[...]]', start, 'last line' or"
        " 'last word' of a text, or a field of JSON.",
        metavar="MARK",
    )
    reply_fields: tuple[str, ...] = _judging(
        (),
        "All fields of a JSON answer in their order [default: the one of --verdict].",
        kind="names",
        flag="--reply",
        metavar="FIELD,FIELD",
    )
    criteria: str | None = _judging(
        None,
        "The words that optimization may edit: the first and last.",
        metavar="'FIRST ... LAST'",
    )
