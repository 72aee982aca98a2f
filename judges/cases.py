"""Decided cases: rows that people have graded, which a judge is shown before the row it grades."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from .errors import DataError, PromptError, explain_yaml_error
from .files.problems import Problems
from .files.small_file import read_small
from .files.write_beside import write_beside
from .rows import Row
from .scale import OutputScale, StatedScale

if TYPE_CHECKING:
    from .judged_arrays import FloatArray

INLINE = 20
"""Cases that stand in the judge's own file; more of them are a file beside it."""
BANKS = "banks"
"""The folder of banks beside the folders of a registry's judges."""
BANK_FILE = ".cases.jsonl"
MAX_BANK = 256_000_000
"""Bytes of a file of cases."""
WAYS = ("near", "fixed", "random")
"""How cases are chosen; any other word is the name of an embeddings model."""

Encode = Callable[[Sequence[str]], "FloatArray"]
"""An embeddings model: a vector a text; shape (texts, dimensions)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row with what people said of it."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", defer_build=True)

    inputs: Mapping[str, str]
    label: str | float
    """People's grade as a reply would have it: a number, the name of a grade, or the label of a
    choice. A number becomes text, so that 1 and "1" are one label.
    """
    reason: str = ""
    """Why, in the words of who labelled it."""
    id: str = ""
    """Of the row it was; a case is never shown before that row."""
    group: str = ""
    """Of the row it was; nor before any other row of it."""

    def __post_init__(self) -> None:
        if not self.inputs:
            raise PromptError("a case has no inputs")
        if not isinstance(self.label, str):
            if not math.isfinite(self.label):
                raise PromptError(f"a case has the label {self.label!r}, which is no number")
            number = float(self.label)
            written = str(int(number)) if number.is_integer() else repr(number)
            object.__setattr__(self, "label", written)
        for text in (
            self.label,
            self.reason,
            self.id,
            self.group,
            *self.inputs,
            *self.inputs.values(),
        ):
            try:
                str(text).encode()
            except UnicodeEncodeError:
                raise PromptError("a case has a lone surrogate, half a letter") from None

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits that stand for it in any bank."""
        body = orjson.dumps(self.to_json(), option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(body, digest_size=6).hexdigest()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what is known of it; what is empty is left out."""
        body: dict[str, Any] = {"inputs": dict(self.inputs), "label": self.label}
        more = {"reason": self.reason, "id": self.id, "group": self.group}
        return body | {name: text for name, text in more.items() if text}


CASE = TypeAdapter(Case)


@dataclass(frozen=True, eq=False)
class CaseBank:
    """Decided cases in their order; two banks with the same `version` are equal."""

    cases: tuple[Case, ...]
    labels: OutputScale | None = None
    """The scale people graded on, where it is not the judge's."""

    def __len__(self) -> int:
        return len(self.cases)

    def __repr__(self) -> str:
        return f"CaseBank({self.version!r}, {len(self):,} cases)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CaseBank) and other.version == self.version

    def __hash__(self) -> int:
        return hash(self.version)

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        labels: OutputScale,
        inputs: Sequence[str],
        *,
        reason: str | None = None,
    ) -> CaseBank:
        """Make a bank of the rows that have a label.

        Args:
            rows: Labelled rows.
            labels: The scale of their labels.
            inputs: The inputs that the judge reads; a case has no others.
            reason: The column that says why a row has its label.
        """
        cases: list[Case] = []
        for row in rows:
            if row.label is not None:
                why = row.meta.get(reason) if reason else None
                case = Case(
                    inputs={name: row.inputs[name] for name in inputs},
                    label=labels.name(row.label),
                    reason="" if why is None else str(why),
                    id=row.id,
                    group=row.group,
                )
                cases.append(case)
        return cls(cases=tuple(cases), labels=labels)

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits of the hash of all cases in their order."""
        digest = hashlib.blake2b(digest_size=6)
        if self.labels is not None:
            digest.update(orjson.dumps(_scale_json(self.labels)) + b"\n")
        for case in self.cases:
            digest.update(orjson.dumps(case.to_json(), option=orjson.OPT_SORT_KEYS) + b"\n")
        return digest.hexdigest()

    def to_text(self) -> str:
        """Return the cases as JSONL; their scale stands in the judge's file."""
        return "".join(orjson.dumps(case.to_json()).decode() + "\n" for case in self.cases)

    def write(self, path: Path) -> None:
        """Write the cases as JSONL."""
        write_beside(path, self.to_text())


def read_cases(path: Path) -> tuple[Case, ...]:
    """Read cases from JSONL: `inputs`, `label`, and where known `reason`, `id` and `group`.

    Raises:
        DataError: It cannot be read, or a line is no case; file, line and field are named.
        InputError: It is no regular file, or too large.
    """
    try:
        return _read_content(read_small(path, limit=MAX_BANK), path)
    except OSError as error:
        raise DataError(f"cannot read the cases {str(path)!r}: {error}") from None


@lru_cache(maxsize=4)
def _read_content(content: bytes, path: Path) -> tuple[Case, ...]:
    """Parse a file once, and not for every version of a judge that has it."""
    problems = Problems(path)
    cases: list[Case] = []
    for at, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            cases.append(CASE.validate_python(orjson.loads(line)))
        except orjson.JSONDecodeError as error:
            problems.add(at, f"not JSON: {error}")
        except ValidationError as error:
            problems.add(at, explain_yaml_error(error))
        except PromptError as error:
            problems.add(at, str(error))
    problems.check(hint='a line is {"inputs": {...}, "label": ..., "reason": ..., "group": ...}')
    return tuple(cases)


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Which decided cases a judge is shown, as a part of its prompt."""

    bank: CaseBank
    count: int = 4
    """How many stand before a row, where so many can be had."""
    balanced: bool = True
    """Whether each decision gets the same number, so that their shares say nothing of the row; of a
    choice, each label."""
    by: str = "near"
    """`near`: most like the row by TF-IDF over characters; `fixed`: the first ones of the bank;
    `random`: drawn anew by each row's text; else the name of an embeddings model."""
    max_tokens: int | None = None
    """Of all cases of a row together, by the stated estimate; a longer one is passed over."""
    encode: Encode | None = field(default=None, compare=False, repr=False)
    """The embeddings model that `by` names, once it is at hand."""
    hidden: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Keys of cases that are not shown where the judge is measured, because they are sealed there;
    the judge is the same version."""

    def __post_init__(self) -> None:
        if not self.bank.cases:
            raise PromptError("the bank has no cases")
        if self.count < 1:
            raise PromptError(f"count is {self.count}; show at least one case")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise PromptError(f"max_tokens is {self.max_tokens}; leave it out for no limit")
        if not self.by.strip():
            raise PromptError(f"by is empty; it is one of {', '.join(WAYS)}, or a model's name")

    def describe(self) -> str:
        """Say in words which cases stand before a row."""
        ways = {"near": "the nearest of", "fixed": "the first of", "random": "drawn from"}
        way = ways.get(self.by, f"the nearest by {self.by} of")
        labels = self.bank.labels
        each = "label" if labels is not None and labels.kind == "choice" else "decision"
        even = f", as many of each {each}" if self.balanced else ""
        return f"{self.count} decided cases, {way} {len(self.bank):,}{even}"

    def seen(self, scale: OutputScale) -> list[Any]:  # Any: JSON
        """Return what of it changes what a judge of this scale is shown, for the judge's version.

        The threshold is in it: which cases are balanced, and how a label of another scale is said,
        hangs on the decision.
        """
        chosen = [self.bank.version, self.count, self.balanced, self.by, self.max_tokens]
        return [*chosen, scale.threshold]

    def to_yaml(self) -> dict[str, Any]:  # Any: YAML nodes
        """Return the node of a judge's file; a small bank stands in it whole."""
        body: dict[str, Any] = {
            "bank": self.bank.version,
            "count": self.count,
            "balanced": self.balanced,
            "by": self.by,
            "max_tokens": self.max_tokens,
        }
        if self.bank.labels is not None:
            body["labels"] = _scale_json(self.bank.labels)
        if len(self.bank) <= INLINE:
            body["rows"] = [case.to_json() for case in self.bank.cases]
        return body


@dataclass(frozen=True, kw_only=True)
class CasesNode:
    """The node `cases` of a judge's file."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    bank: str | None = None
    count: int = 4
    balanced: bool = True
    by: str = "near"
    max_tokens: int | None = None
    labels: StatedScale | None = None
    rows: tuple[Case, ...] | None = None

    def load(self, name: str, folder: Path | None, *, edited: bool) -> Cases:
        """Return the cases it names.

        Args:
            name: The judge's.
            folder: Where the judge's file is, or the folder of banks itself; None where the judge
                came as text alone.
            edited: Whether rows in the node may be others than its `bank` says.

        Raises:
            PromptError: There is no such file, or its content is another.
            DataError: The file cannot be read.
        """
        if self.rows is not None:
            bank = CaseBank(cases=self.rows, labels=self.labels)
            changed = "the rows under cases were changed" if not edited else ""
        else:
            if folder is None or self.bank is None:
                raise PromptError(
                    f"the cases {self.bank} of {name!r} are in a file beside the judge's, and only"
                    " the judge is given"
                    if self.bank
                    else "cases have neither rows nor a bank"
                )
            beside = bank_path(folder, self.bank)
            path = next(
                (
                    path
                    for path in (beside, bank_path(folder.parent / BANKS, self.bank))
                    if path.is_file()
                ),
                None,
            )
            if path is None:
                raise PromptError(
                    f"there is no file {str(beside)!r}, which has the cases of {name!r}",
                    hint=f"copy it with the judge's file; a workspace has it in prompts/{BANKS}",
                )
            bank = CaseBank(cases=read_cases(path), labels=self.labels)
            changed = f"the cases in {str(path)!r} were changed"
        if changed and self.bank not in (None, bank.version):
            raise PromptError(
                f"{changed}: the judge names the bank {self.bank}, they are {bank.version}",
                hint="make a version of the judge with them, or put the old ones back",
            )
        return Cases(
            bank=bank,
            count=self.count,
            balanced=self.balanced,
            by=self.by,
            max_tokens=self.max_tokens,
        )


def require_cases(cases: Cases, judge: str, inputs: Sequence[str], scale: OutputScale) -> None:
    """Refuse a bank that a judge cannot be shown.

    Raises:
        PromptError: A case lacks an input or has a label off the scale, or the judge's labels are
            others than people's.
    """
    labels = cases.bank.labels or scale
    if "choice" in (labels.kind, scale.kind) and labels.labels != scale.labels:
        raise PromptError(
            f"prompt {judge!r} answers {scale.describe()}, its cases have {labels.describe()}"
        )
    for number, case in enumerate(cases.bank.cases, 1):
        what = f"prompt {judge!r}: case {number}" + (f" ({case.id!r})" if case.id else "")
        missing = [name for name in inputs if name not in case.inputs]
        if missing:
            raise PromptError(f"{what} has no field {missing[0]!r}")
        if grade_of(case, labels) is None:
            raise PromptError(
                f"{what} has the label {case.label!r:.80}, which is not on the scale"
                f" ({labels.describe()})"
            )


def grade_of(case: Case, labels: OutputScale) -> float | None:
    """Return people's grade as a number of their scale; None where it is not on it."""
    label = str(case.label)
    if label in labels.labels:
        return float(labels.labels.index(label))
    if labels.kind == "choice" or (labels.kind == "graded" and labels.labels):
        return None
    try:
        grade = labels.written(float(label))
    except ValueError:
        return None
    return grade if labels.contains(grade) else None


def bank_path(folder: Path, version: str) -> Path:
    """Return where a large bank stands, whichever judges have it: beside the judge's file, or in
    the folder of banks.

    Raises:
        PromptError: The version is none, and would lead elsewhere.
    """
    if len(version) != 12 or not set(version) <= set("0123456789abcdef"):
        raise PromptError(f"{version!r} is no version of a bank: twelve hexadecimal digits")
    return folder / f"{version}{BANK_FILE}"


def _scale_json(scale: OutputScale) -> dict[str, Any]:  # Any: JSON
    body: dict[str, Any] = {"kind": scale.kind, "threshold": scale.threshold}
    if scale.kind == "graded" and not scale.labels:
        body |= {"low": scale.low, "high": scale.high}
    if scale.low_is_good:
        body["low_is_good"] = True
    return body | ({"labels": list(scale.labels)} if scale.labels else {})
