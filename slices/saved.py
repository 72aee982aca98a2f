"""A saved slice: a small YAML file with the predicate, the numbers it had, and the rows and judge they come from.

The predicate is what commands use; the numbers, of the day of saving, are for the reader.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ..judges import InputError, JudgedDataset, read_small_text, write_beside
from ..judges.rows import hash_rows
from .effect import Direction
from .inspect_slice import MeasuredSlice
from .search_result import FoundSlice
from .slice import Predicate, parse_predicate

FORMAT = 1
MAX_CHARACTERS = 100_000
SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSlice:
    """A slice with what was known about it when it was saved."""

    predicate: Predicate
    metric: str
    n: int
    """Rows of the slice in the metric's denominator."""
    support: int
    """All scored rows of the slice."""
    value: float | None
    """The metric on the slice; None where it has no value there."""
    low: float | None
    high: float | None
    rest: float | None
    """The metric elsewhere."""
    p: float | None
    """Held out and corrected where the slice was found; on all rows where it was chosen."""
    chosen_by_hand: bool
    confirmed: bool
    """Whether held-out rows confirmed it; never of a slice chosen by hand."""
    prompt_target: bool
    direction: Direction | None
    data: str
    """The name of the rows."""
    data_hash: str
    judge: str
    model: str
    simulated: bool
    saved_at: str
    """When, in ISO 8601."""

    @classmethod
    def of(cls, chosen: FoundSlice | MeasuredSlice, judged: JudgedDataset, *, saved_at: str) -> SavedSlice:
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
        fields = asdict(self)
        numbers = {name: fields[name] for name in _Numbers.model_fields if fields[name] is not None}
        body: dict[str, Any] = {  # Any: YAML nodes
            "format": FORMAT,
            "slice": str(self.predicate),
            "found": numbers,
            "origin": {name: fields[name] for name in _Origin.model_fields},
        }
        # YAML reads U+0085 and its like as line ends, so all of a text with one is escaped.
        plain = all(text.isprintable() for text in (str(self.predicate), self.data, self.judge, self.model))
        return yaml.safe_dump(body, sort_keys=False, allow_unicode=plain, width=110)


class _Numbers(BaseModel):
    model_config = ConfigDict(extra="forbid")
    metric: str
    n: int
    support: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rest: float | None = None
    p: float | None = None
    chosen_by_hand: bool
    confirmed: bool
    prompt_target: bool
    direction: Direction | None = None


class _Origin(BaseModel):
    model_config = ConfigDict(extra="forbid")
    data: str
    data_hash: str
    judge: str
    model: str
    simulated: bool
    saved_at: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["1"]
    slice: str
    found: _Numbers
    origin: _Origin


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
        parsed = _parse(read_small_text(path))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{path}: {field}: {first['msg']} (got {first['input']!r:.80})", hint="judgewright slices --save writes one"
        ) from None
    except (OSError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"cannot read the slice file {str(path)!r}: {reason}") from None
    return SavedSlice(
        predicate=parse_predicate(parsed.slice),
        **parsed.found.model_dump(),
        **parsed.origin.model_dump(),
    )


def load_slice(path: Path) -> Predicate:
    """Return the predicate of a saved slice.

    Raises:
        InputError: As `load_saved_slice`.
    """
    return load_saved_slice(path).predicate


def read_slice(text: str) -> Predicate:
    """Read a slice as commands take it: the path of a saved slice, or a predicate.

    Raises:
        InputError: It is neither.
    """
    try:
        is_file = Path(text).is_file()
    except OSError:  # a predicate may be longer than a file's name can be
        is_file = False
    if is_file:
        return load_slice(Path(text))
    if text.strip().endswith(SUFFIXES) and not any(sign in text for sign in "=<>["):
        raise InputError(f"there is no slice file {text!r}", hint="judgewright slices --save writes one")
    return parse_predicate(text)


def _parse(text: str) -> _File:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a slice file over {MAX_CHARACTERS:,} characters is not read")
    # The base loader builds text and nothing else, so that a file cannot run anything.
    return _File.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506  # text and nothing else
