"""The tools: what an agent may say to each, and which command does it.

What is not named here is refused, so that no option of a command comes in by another door: none
names an address or a key, shows single rows, reads sealed ones or adopts a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ...judges.errors import InputError

if TYPE_CHECKING:
    from .session import Session

_OF_DECISION = (
    *("outcome", "accepted", "reason", "simulated", "n", "look", "alpha"),
    *("target", "guards", "equal_gain", "rows_needed"),
)


def _on_one_line(text: str) -> str:
    """Refuse what a terminal or a log would not show as it is."""
    if not text.isprintable() or not text.strip():
        raise ValueError("write printable text on one line")
    return text


Text = Annotated[str, Field(max_length=2000), AfterValidator(_on_one_line)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_on_one_line)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
JudgeText = Annotated[Text, Field(description="A judge's name, name@version or YAML file.")]


class Arguments(BaseModel):
    """What an agent says to a tool: each field is an option of the command of that name, or one of
    its arguments.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
    words: ClassVar[tuple[str, ...]]
    """The command, with what it is always told."""
    positional: ClassVar[tuple[str, ...]] = ()
    """The fields that are arguments and no options, in their order."""
    pays: ClassVar[bool] = False
    """Whether the command asks a model."""

    def command(self, session: Session) -> tuple[list[str], list[str]]:
        """Return the command with its options, each in one word with its value, and its arguments.

        Raises:
            InputError: A value is not for an agent to name.
        """
        words = list(self.words)
        for name, value in self:
            if name not in self.positional and value is not None and value is not False:
                words += _option(name, value, session)
        return words, [_argument(name, getattr(self, name), session) for name in self.positional]

    def trim(self, body: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        """Return what of the command's answer an agent needs."""
        return body


def _option(name: str, value: Any, session: Session) -> Iterator[str]:  # Any: a field's value
    option = {"columns": "column", "accept_reading": "yes"}.get(name, name)
    if name == "model":
        session.require_model(value)
    if name == "out":
        value = session.writable(value)
    if value is True:
        yield f"--{option}"
    elif isinstance(value, dict):
        for key, one in cast("dict[str, str | float]", value).items():
            if "=" in key:
                raise InputError(f"{key!r} is not the name of an input or a metric")
            yield f"--{option}={key}={one}"
    else:
        yield f"--{option}={value}"


def _argument(name: str, value: str, session: Session) -> str:
    if name == "judge":
        return session.judge(value)
    return str(session.readable(value)) if name == "data" else value


class Judges(Arguments):
    """List the judges, with their inputs, scales and versions."""

    words: ClassVar[tuple[str, ...]] = ("judges", "list")


class Models(Arguments):
    """List the models that the user has named; `simulated` is always there, made up and free."""

    words: ClassVar[tuple[str, ...]] = ("models", "list")

    def trim(self, body: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        shown = ("name", "model", "problem")  # settings may hold headers with a key
        return {"models": [{name: one[name] for name in shown} for one in body["models"]]}


class Runs(Arguments):
    """List the latest runs: what each is about, its figure with interval and n, how it ended."""

    words: ClassVar[tuple[str, ...]] = ("runs", "list")
    limit: Annotated[int, Field(ge=1, le=200)] = 20

    def trim(self, body: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        left_out = ("config", "pid", "host")
        runs = [{k: v for k, v in run.items() if k not in left_out} for run in body["runs"]]
        return {"runs": runs, "of": body["of"]}


class OfRun(Arguments):
    """About one run."""

    positional: ClassVar[tuple[str, ...]] = ("run",)
    run: Annotated[Name, Field(description="A run's id, or `latest`.")] = "latest"


class GateStatus(OfRun):
    """Say how a run stands and what its gate decided, on how many sealed rows; nothing is judged
    and no look is taken.
    """

    words: ClassVar[tuple[str, ...]] = ("runs", "show")

    def trim(self, body: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        events = {event["kind"]: event["payload"] for event in body["events"]}
        gated: dict[str, Any] = events.get("gated", {})
        ended: dict[str, Any] = events.get("decision") or gated.get("decision", {})
        about = {name: body[name] for name in ("run_id", "kind", "state", "created")}
        about |= {name: body["config"].get(name) for name in ("model", "objective", "budget")}
        decision = {name: value for name, value in ended.items() if name in _OF_DECISION}
        return {**about, "cost": body["calls"]["cost"], "decision": decision or None}


class Diff(OfRun):
    """Show what a run's new prompt changes; a person adopts it, no tool does."""

    words: ClassVar[tuple[str, ...]] = ("diff",)


class Slices(OfRun):
    """Find the slices where a judge errs in one direction, on the open rows of a run; a slice
    counts only if it is confirmed.
    """

    words: ClassVar[tuple[str, ...]] = ("slices",)
    metric: Annotated[Name | None, Field(description="Which metric is poor there.")] = None


class Bench(Arguments):
    """Measure a judge against the human labels of rows, every metric with its interval and n. What
    was asked before is not asked or paid again.
    """

    words: ClassVar[tuple[str, ...]] = ("bench",)
    positional: ClassVar[tuple[str, ...]] = ("judge", "data")
    pays: ClassVar[bool] = True
    judge: JudgeText
    data: Annotated[Text, Field(description="File of rows in the folder: JSONL, CSV or Parquet.")]
    model: Annotated[
        Name, Field(description="A model the user has named, or `simulated` (made up, free).")
    ] = "simulated"
    label: Annotated[Name | None, Field(description="Column of the human label.")] = None
    group: Annotated[Name | None, Field(description="Column whose rows belong together.")] = None
    columns: Annotated[
        dict[Name, Name], Field(max_length=50, description="A judge's input to its column.")
    ] = {}
    limit: Annotated[int | None, Field(ge=1, le=10_000_000)] = None


class Plan(Bench):
    """Say what an optimization would ask and cost, and which gain its gate could show. It asks and
    spends nothing.
    """

    words: ClassVar[tuple[str, ...]] = ("optimize", "--plan")
    pays: ClassVar[bool] = False
    objective: Annotated[Text, Field(description="Such as `raise precision`, or a sentence.")]
    target: Annotated[Name | None, Field(description="The metric to improve.")] = None
    guard: Annotated[
        dict[Name, Share], Field(max_length=10, description="Losses allowed: recall: 0.05.")
    ] = {}
    steps: Annotated[int | None, Field(ge=0, le=30)] = None


class Optimize(Plan):
    """Improve a judge's prompt where it errs and let sealed rows decide once: that is a look, so
    plan first and do not repeat it until it passes. The same call goes on with a run that was
    stopped.
    """

    words: ClassVar[tuple[str, ...]] = ("optimize",)
    pays: ClassVar[bool] = True
    accept_reading: Annotated[
        bool, Field(description="Take the model's reading of the objective; read it out first.")
    ] = False


class Export(Arguments):
    """Write a judge for another tool, with where it was gated. Without `out` the files are in the
    answer.
    """

    words: ClassVar[tuple[str, ...]] = ("export", "judge")
    positional: ClassVar[tuple[str, ...]] = ("judge",)
    judge: JudgeText
    to: Annotated[Name, Field(description="The tool or format, such as mlflow or messages.")]
    out: Annotated[Text | None, Field(description="A new file or folder, where allowed.")] = None


TOOLS: Mapping[str, type[Arguments]] = {
    "judges": Judges,
    "models": Models,
    "runs": Runs,
    "bench": Bench,
    "slices": Slices,
    "plan": Plan,
    "optimize": Optimize,
    "gate_status": GateStatus,
    "diff": Diff,
    "export": Export,
}
