"""A saved slice: a small YAML file with the predicate, the numbers it had, and the rows and judge
they come from.

The predicate is what commands use; the numbers, of the day of saving, are for the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

from ..judges import InputError, JudgedDataset, read_small_text, write_beside
from ..judges.errors import explain_yaml_error
from ..judges.rows import hash_rows
from .effect import Direction
from .inspect_slice import MeasuredSlice
from .search_result import FoundSlice
from .slice import Predicate, parse_predicate

FORMAT = 1
MAX_BYTES = 100_000
SUFFIXES = (".yaml", ".yml", ".json")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Numbers(_Part):
    metric: str
    n: int
    """Rows of the slice in the metric's denominator."""
    support: int
    """All scored rows of the slice."""
    value: float | None = None
    """The metric on the slice; None where it has no value there."""
    low: float | None = None
    high: float | None = None
    rest: float | None = None
    """The metric elsewhere."""
    p: float | None = None
    """Corrected for every candidate where the slice was found; of this slice alone where it was
    chosen.
    """
    chosen_by_hand: bool
    confirmed: bool
    """Whether a search confirmed it; never of a slice chosen by hand."""
    prompt_target: bool
    direction: Direction | None = None


class _Origin(_Part):
    data: str
    """The name of the rows."""
    data_hash: str
    judge: str
    model: str
    simulated: bool
    saved_at: str
    """When, in ISO 8601."""


class _File(_Part):
    format: Literal["1"]
    slice: str
    found: _Numbers
    origin: _Origin


class SavedSlice(_Numbers, _Origin):
    """A slice with what was known about it when it was saved."""

    predicate: InstanceOf[Predicate]

    @classmethod
    def of(
        cls, chosen: FoundSlice | MeasuredSlice, judged: JudgedDataset, *, saved_at: str
    ) -> SavedSlice:
        """Take a slice's numbers, and where they come from."""
        by_hand = isinstance(chosen, MeasuredSlice)
        if by_hand:
            n, value, rest = chosen.value.n, chosen.value.value, chosen.rest.value
            low, high = chosen.value.low, chosen.value.high
        else:
            n, value, rest = chosen.n, chosen.value, chosen.rest
            low, high = chosen.low, chosen.high
        return cls(
            predicate=chosen.predicate,
            metric=chosen.metric,
            n=n,
            support=chosen.support,
            value=value,
            low=low,
            high=high,
            rest=rest,
            p=chosen.p,
            chosen_by_hand=by_hand,
            confirmed=not by_hand and chosen.confirmed,
            prompt_target=not by_hand and chosen.prompt_target,
            direction=chosen.direction,
            data=judged.dataset.name,
            data_hash=hash_rows(judged.dataset.rows),
            judge=judged.judge,
            model=judged.model,
            simulated=judged.simulated,
            saved_at=saved_at,
        )

    def to_yaml(self) -> str:
        """Write the slice as YAML; what is unknown is left out."""
        numbers = self.model_dump(include={*_Numbers.model_fields}, exclude_none=True)
        origin = self.model_dump(include={*_Origin.model_fields})
        body: dict[str, Any] = {  # Any: YAML nodes
            "format": FORMAT,
            "slice": str(self.predicate),
            "found": numbers,
            "origin": origin,
        }
        # YAML reads U+0085 and its like as line ends, so all of a text with one is escaped.
        plain = all(
            text.isprintable() for text in (str(self.predicate), self.data, self.judge, self.model)
        )
        return yaml.safe_dump(body, sort_keys=False, allow_unicode=plain, width=110)


def save_slice(saved: SavedSlice, path: Path) -> None:
    """Write a slice to a file; one that is there is replaced.

    Raises:
        InputError: The folder is not there or cannot be written to.
    """
    try:
        write_beside(path, saved.to_yaml())
    except OSError as error:
        raise InputError(f"cannot write the slice to {str(path)!r}: {error.strerror}") from None


def load_saved_slice(path: Path) -> SavedSlice:
    """Read a saved slice; every scalar is read as text first, as in prompt files.

    Raises:
        InputError: There is no such file, or it is not a saved slice.
    """
    try:
        text = read_small_text(path, limit=MAX_BYTES)
        # The base loader builds text and nothing else, so that a file cannot run anything.
        parsed = _File.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506  # text only
    except ValidationError as error:
        raise InputError(
            f"{path}: {explain_yaml_error(error)}", hint="judgewright slices --save writes one"
        ) from None
    except (OSError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise InputError(
            f"cannot read the slice file {str(path)!r}: {explain_yaml_error(error)}"
        ) from None
    return SavedSlice(
        predicate=parse_predicate(parsed.slice),
        **parsed.found.model_dump(),
        **parsed.origin.model_dump(),
    )


def is_name(text: str) -> bool:
    """Whether a text may be the name of a saved slice: it is no predicate and no file."""
    return (
        re.fullmatch(r"[\w-][\w .-]*", text) is not None
        and not text.endswith(SUFFIXES)
        and not Path(text).is_file()
    )


def read_slice(text: str, saved: Mapping[str, str] = MappingProxyType({})) -> Predicate:
    """Read a slice as commands take it: the name or path of a saved slice, or a predicate.

    Args:
        text: What was typed.
        saved: The predicates of saved slices, by their names.

    Raises:
        InputError: It is none of them.
    """
    if text.strip() in saved:
        return parse_predicate(saved[text.strip()])
    try:
        is_file = Path(text).is_file()
    except OSError:  # a predicate may be longer than a file's name can be
        is_file = False
    if is_file:
        return load_saved_slice(Path(text)).predicate
    if text.strip().endswith(SUFFIXES) and not any(sign in text for sign in "=<>["):
        raise InputError(
            f"there is no slice file {text!r}", hint="judgewright slices --save writes one"
        )
    try:
        return parse_predicate(text)
    except InputError as error:
        if saved and is_name(text):
            raise InputError(
                str(error), hint=f"slices are saved as {', '.join(sorted(saved))}"
            ) from None
        raise
