"""The settings of rows, models and `bench`; each field is also an option on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...optimize.options import (
    ClaimOptions,
    ConfidenceOptions,
    Kind,
    described,
    option,
)

if TYPE_CHECKING:
    from ...judges.files import RawRoles

LABEL_SCALE = (
    "Scale of the labels: binary, probability, low-probability, or LOW..HIGH@THRESHOLD [default:"
    " read from them]."
)
LABEL_MAP = (
    "What words of the label stand for, such as factual=1,hallucinated=0; none for no label."
)
MODEL = "simulated (made up, no key), NAME (see `judgewright models`), or NAME@https://host/v1."

AUDITED = (
    "A file with marks of an audit (`--audit`), or with ids and labels: the labels that it corrects"
    " count."
)
COLUMN = "Read a judge's input from another column."


def pairs_option(
    group: str, help: str, *, flag: str, metavar: str, kind: Kind = "pairs"
) -> Any:  # Any: the field's type is its annotation
    """Make a field that is an option, given once for each pair such as `INPUT=COLUMN`."""
    return field(
        default_factory=dict,
        metadata=described(group, help, kind=kind, flag=flag, metavar=metavar),
    )


_data = partial(option, "Data")
_model = partial(option, "Model")


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Which columns of a data file are what."""

    label: str | None = _data(None, "Column of the human label [default: label].")
    id_: str | None = _data(
        None, "Column of the row id [default: id, else the line number].", flag="--id"
    )
    group: str | None = _data(
        None,
        "Column whose rows stay on one side of a split [default: group_id, else the input that"
        " repeats].",
    )
    columns: Mapping[str, str] = pairs_option(
        "Data", COLUMN, flag="--column", metavar="INPUT=COLUMN"
    )
    label_map: str | None = _data(None, LABEL_MAP, metavar="CELL=GRADE,...")

    def roles(self, *, low_is_good: bool = False) -> RawRoles:
        """Return them as files are read without a judge."""
        from ...judges.files import RawRoles, mapped_words

        return RawRoles(
            inputs=self.columns,
            label=self.label,
            id=self.id_,
            group=self.group,
            words=mapped_words(self.label_map),
            low_is_good=low_is_good,
        )


@dataclass(frozen=True, kw_only=True)
class RowOptions(RoleOptions):
    """How the rows of a data file are read."""

    label_scale: str | None = _data(None, LABEL_SCALE)
    limit: int | None = _data(None, "Read only the first rows.", kind="integer", low=1)
    skip_incomplete: bool = False
    """Leave out rows that lack an input; in Python alone."""

    def as_arguments(self) -> dict[str, Any]:  # Any: JSON
        """Return the options as `load_as_said` takes them and runs keep them; without a map nothing
        is said of one.
        """
        options = {field.name: getattr(self, field.name) for field in fields(RowOptions)}
        if self.label_map is None:
            del options["label_map"]
        return {"id" if name == "id_" else name: value for name, value in options.items()}


@dataclass(frozen=True, kw_only=True)
class AuditedRowOptions(RowOptions):
    """The same where labels may be corrected by an audit."""

    audited: str | None = _data(None, AUDITED, metavar="FILE")

    def as_arguments(self) -> dict[str, Any]:  # Any: JSON
        """Return them as `RowOptions` does; without an audit nothing is said of one, as before
        there were any.
        """
        options = RowOptions.as_arguments(self)
        return (
            options
            if self.audited is None
            else {**options, "audited": str(Path(self.audited).resolve())}
        )


VIA = ("live", "batch", "files")
VIA_FORM = "live|batch|files=DIR"
Via = Literal["live", "batch", "files"]


@dataclass(frozen=True, kw_only=True)
class ExchangeOptions:
    """How a model is reached: by single calls, through a batch queue, or through files that a
    person carries.
    """

    via: Via = _model(
        "live",
        "live: single calls; batch: the provider's batch queue, at half price and within a day;"
        " files=DIR: request files in a folder that you carry to a model, and reply files that you"
        " bring back.",
        kind="via",
        metavar=VIA_FORM,
    )
    exchange: str | None = None
    """The folder of request and reply files, which stands behind `files=`."""

    def __post_init__(self) -> None:
        """Part `files=DIR`."""
        for name in ("via", "optimizer_via"):
            way, is_folder, folder = (getattr(self, name, None) or "").partition("=")
            if is_folder:
                object.__setattr__(self, name, way)
                object.__setattr__(self, "exchange", folder)


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """Which model is asked, and for how much."""

    model: str | None = _model(None, MODEL)
    budget: str | None = _model(None, "Dollars such as 5.00, or tokens such as 200000tokens.")
    max_tokens: int | None = _model(
        None,
        "Tokens of one verdict [default: what the model's settings say, else 512].",
        kind="integer",
        low=1,
    )


@dataclass(frozen=True, kw_only=True)
class CallOptions(ExchangeOptions, AskOptions):
    """The same, how fast, and how it is reached."""

    concurrency: int | None = _model(
        None,
        "Calls in flight at most [default: what the model's settings say, else 64].",
        kind="integer",
        low=1,
        high=1000,
    )
    max_unreadable: int = _model(
        10,
        "How many of the judge's first 20 replies may have no readable verdict; the rest is not"
        " sent where more have none.",
        kind="integer",
        low=0,
        high=20,
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(CallOptions):
    """The same for a command that needs a model."""

    model: str = field(metadata=described("Model", MODEL, kind="model"))


HERE = "here"
"""The engine that is this process."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where a judge's calls are sent from."""

    engine: str = _model(
        HERE,
        "Who sends a judge's calls: this process, or the workers of a dask cluster, dask=4 on this"
        " machine or dask=tls://host:8786.",
        metavar="NAME[=WHERE]",
    )


@dataclass(frozen=True, kw_only=True)
class EngineCallOptions(EngineOptions, CallOptions):
    """Which model is called, and how, for a command that may judge very many rows."""


@dataclass(frozen=True, kw_only=True)
class JudgeModelOptions(EngineOptions, ModelOptions):
    """The same for such a command that needs a model."""


_judging = partial(option, "Judging")
_trust = partial(option, "Trust")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class TrustOptions:
    """How far to trust the figures."""

    annotators: tuple[str, ...] = _trust(
        (), "Comma-separated columns of single annotators.", kind="names"
    )
    audit: Path | None = _trust(
        None, "Write likely label errors as JSONL, to be marked.", kind="out"
    )
    audited: Path | None = _trust(
        None, "Such a file with marks: measure with the labels it corrects.", kind="file"
    )


@dataclass(frozen=True, kw_only=True)
class BenchOptions(ClaimOptions, ConfidenceOptions):
    """How `bench` judges the rows, and what it measures and writes."""

    beside: tuple[str, ...] = _judging(
        (),
        "Comma-separated judges whose questions a decision model is asked in the same requests;"
        " each is measured too, against labels of its own or else JUDGE's.",
        kind="names",
        metavar="OTHER[=COLUMN],...",
    )
    repeat: int = _judging(1, "Ask everything this many times.", low=1, high=20)
    planted: int | Literal["order"] | None = _trust(
        None,
        "Plant instructions into N rows: the attack success rate. order: ask a decision model again"
        " with its options in other orders and under letters.",
        kind="planted",
        metavar="N|order",
    )
    slice_: str | None = _data(
        None,
        "Only the rows of a saved slice, or of an expression.",
        flag="--slice",
        metavar="SLICE",
    )
    by: str | None = _output(None, "Also measure per value of this column.")
    metrics: str = _output("few", "Print four metrics, or all.", choices=("few", "all"))
    out: Path | None = _output(None, "Write the verdicts as JSONL.", kind="out")
    html: Path | None = _output(None, "Write a page with charts.", kind="out")
