"""What a person may choose about a run: a field here is a setting of the run and an option of the
command line.

A new setting is one line in one of the classes of options, here or in
`runs/config/command_options.py`. Nothing heavy is imported here, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from ..judges.claims import ClaimSettings

Kind: TypeAlias = Literal[
    "text", "integer", "integers", "number", "flag", "names", "labels", "repeated", "pairs",
    "texts", "shares", "planted", "slice", "edit", "loss", "model", "via", "file", "path", "out",
]  # fmt: skip
"""How an option is spelled: `names` and `labels` are comma-separated; `integers`, `repeated`,
`pairs` and `texts` are given once a value.
"""
_KINDS: Mapping[type, Kind] = {bool: "flag", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How the command line offers a field."""

    group: str
    """The heading under which `--help` shows it."""
    help: str
    kind: Kind = "text"
    flag: str | None = None
    """Its spelling where that is not the field's name."""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    type: Any = None
    """The click type of an option of one command, where no kind says it; Any: click is not imported
    here.
    """
    proposers: tuple[str, ...] = ()
    """The proposers that it is for; all unless given."""


def option(
    group: str, default: object, help: str, *, kind: Kind | None = None, **details: Any
) -> Any:
    """Make a field with a default that is an option too; Any: the field's type is its annotation.

    Args:
        group: The heading under which `--help` shows it.
        default: The default value.
        help: What `--help` says.
        kind: How it is spelled; read from the type of the default unless given.
        details: The other fields of `Option`.
    """
    kind = kind or _KINDS.get(type(default), "text")
    return field(default=default, metadata=described(group, help, kind=kind, **details))


def described(group: str, help: str, **details: Any) -> Mapping[str, Option]:  # Any: as in `option`
    """Return the metadata of a field that is an option; without a default the option is
    required.
    """
    return {"option": Option(group=group, help=help, **details)}


def option_fields(
    options: type,
) -> Iterator[tuple[Field[Any], Option]]:  # Any: fields of every type
    """Yield the fields of a dataclass that are options, in order."""
    for one in fields(options):
        if "option" in one.metadata:
            yield one, one.metadata["option"]


def changed_options(
    values: object, options: type
) -> Iterator[tuple[Field[Any], Option, Any]]:  # Any: what a field holds
    """Yield the options that are not as by default, with their values.

    Args:
        values: An object that has the fields.
        options: A dataclass of options.
    """
    for one, option in option_fields(options):
        value = getattr(values, one.name)
        default: Any = one.default
        if one.default_factory is not MISSING:
            default = one.default_factory()
        if value != default:
            yield one, option, value


def spelling(one: Field[Any]) -> str:  # Any: a field of any type
    """Return an option as it is typed, such as `--max-tokens`."""
    return one.metadata["option"].flag or f"--{one.name.replace('_', '-')}"


def shares_text(shares: Iterable[float]) -> str:
    """Write shares as `--split` takes them, such as `30/20/30/20`."""
    return "/".join(f"{share:g}" for share in shares)


SHARES = (
    "Per cent for training/validation/holdout/final [default: 30/20/30/20; 40/15/45/0 under 200"
    " labels]."
)

BRIEF_TOKENS: Mapping[str, int] = {"errors": 12_000, "all": 60_000}
"""Tokens of a brief beside the judge's prompt, by what it shows of the training rows."""

_search = partial(option, "Search")
_judging = partial(option, "Judging")
_gate = partial(option, "Gate")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How long to search, on which rows, and what is measured on the way."""

    steps: int = _search(
        3, "Steps of each proposer; after which it stops is chosen too.", low=0, high=1000
    )
    folds: int = _search(
        2,
        "Parts of the open rows; prompts are written from all but one and judged on that one, each"
        " in turn. 1: written from one half, judged on the other.",
        low=1,
        high=10,
    )
    batch: int = _search(
        120,
        "Rows that a step judges for its brief at most, of the slice and rightly judged ones"
        " outside it; --view all takes all.",
        low=1,
        high=4096,
    )
    slice: str = _search(
        "auto",
        "auto, all, a saved slice's name or file, or a predicate such as 'dataset = ragtruth'.",
        kind="slice",
    )
    slice_columns: tuple[str, ...] = _search(
        (),
        "Comma-separated columns to search slices over [default: all columns that do not leak the"
        " label].",
        kind="names",
        flag="--columns",
    )
    exclude: tuple[str, ...] = ()
    """Columns never to slice by; in Python alone."""
    keep: tuple[str, ...] = _search(
        (),
        "Comma-separated columns to slice by though named like a label or a judge's output.",
        kind="names",
    )
    unguided: bool = _search(
        False, "Minibatches of all training rows and a plain 0/1 loss, no slice."
    )
    brief_tokens: int | None = _search(
        None,
        "Tokens of what the optimizer model is told beside the judge's prompt [default: 12,000;"
        " 60,000 with --view all].",
        kind="integer",
        low=1_000,
        high=200_000,
    )
    explanation: str | None = _search(
        None,
        "Column with annotators' reasons; the optimizer model reads them beside training rows, no"
        " slice uses it.",
    )
    seed: int = _search(
        0, "Seed of folds, of the rows tried first and of resamples; never of the split."
    )


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Which rows are sealed for the gate, and which table closes the run."""

    shares: tuple[float, float, float, float] | None = _gate(
        None, SHARES, kind="shares", flag="--split"
    )
    allow_opened: bool = _gate(
        False, "Seal rows that an earlier run had open all the same; the decision says so."
    )
    least_chance: float = _gate(
        0.015,
        "A candidate less likely than this to be accepted is not sent to the gate, so that the"
        " holdout stays sealed.",
    )
    gate_anyway: bool = _gate(
        False, "Test the best candidate on the holdout however unlikely it is to be accepted."
    )
    by: str | None = option(
        "Output", None, "Column of the closing table [default: dataset, if there is one]."
    )


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions:
    """Where a judge's confidence comes from."""

    confidence: Literal["ask", "tok"] = _judging(
        "ask",
        "ask: as the judge states it; tok: from the log-probabilities of its verdict.",
        choices=("ask", "tok"),
    )


@dataclass(frozen=True, kw_only=True)
class ClaimOptions:
    """How a response is split into claims."""

    by_claim: bool = _judging(
        False, "Split each response into claims, judge each; the lowest decides."
    )
    splitter: Literal["sentence", "model"] = _judging(
        "sentence", "With --by-claim: what splits a response.", choices=("sentence", "model")
    )
    trivial: Literal["model", "none"] = "model"
    """What drops claims that assert nothing; in Python alone."""

    @property
    def claims(self) -> ClaimSettings | None:
        """How responses are split into claims; None where each is judged whole."""
        if not self.by_claim:
            return None
        from ..judges.claims import ClaimSettings

        return ClaimSettings(splitter=self.splitter, trivial=self.trivial)
