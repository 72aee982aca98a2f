"""The contract of an export target: what it is given, what it returns, and how its tool is
known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...judges import (
    DecisionRule,
    InputError,
    JudgePrompt,
    JudgeSettings,
    OutputScale,
    Row,
    judge_request,
)
from ...judges.asked_question import verdict_scale
from ...judges.models import ModelSettings
from ...judges.models.question import DecisionApi

LOW_IS_GOOD = (
    "The judge's own number is good where it is low: grades and thresholds here are one minus it."
)
"""What every export of such a judge says."""


SAME_LIMIT = "max_completion_tokens"
ALSO_SENT = {
    SAME_LIMIT: (
        f"The limit of tokens is sent by its newer name, `{SAME_LIMIT}`, which some servers do not"
        " know."
    ),
    "stream": "`stream` is written out as false, which an endpoint supposes anyway.",
}
"""Parts of a request that some tools write otherwise, and the sentence that says so."""


class Refused(InputError):
    """A judge cannot be written for a tool without becoming another judge; the message says why."""


def request_settings(
    prompt: JudgePrompt, judge: JudgeSettings, model: ModelSettings
) -> dict[str, Any]:  # Any: JSON
    """Return what a request of a judge says besides the model and the messages.

    Args:
        prompt: The judge.
        judge: How it is asked.
        model: What the model's settings make of it.
    """
    prompt = replace(prompt, cases=None)  # which change the messages alone
    empty_row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
    body = model.apply(judge_request(prompt, empty_row, settings=judge)).body()
    return {name: value for name, value in body.items() if name != "messages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportContext:
    """A judge, the rule by which it decides, and where it comes from."""

    prompt: JudgePrompt
    rule: DecisionRule
    provenance: Mapping[str, Any]  # Any: JSON
    """Run, model it was gated on, whether that is simulated, outcome, reason, verification; where
    its rule is from.
    """

    api: DecisionApi | None = None
    """The interface of the decision model that the judge is asked of, as a question; None for chat
    models.
    """
    asked: Mapping[str, Any] | None = None  # Any: JSON
    """What a request says besides the model and the messages; None: as judges are asked unless told
    otherwise.
    """

    @property
    def request(self) -> dict[str, Any]:  # Any: JSON
        """What a request to a chat model says besides the model and the messages; of a question
        nothing, and of a cascade what the slow model is sent.
        """
        if self.slow is not None:
            return self.slow.request
        if self.api is not None:
            return {}
        if self.asked is not None:
            return dict(self.asked)
        return request_settings(self.prompt, JudgeSettings(), ModelSettings())

    @property
    def slow(self) -> ExportContext | None:
        """The judge as the slow model of a cascade is asked; None where no decision model is asked
        first.
        """
        if self.prompt.cascade is None or self.api is None:
            return None
        prompt = replace(self.prompt, cascade=None)
        return replace(self, prompt=prompt, rule=prompt.rule, api=None)

    @property
    def scale(self) -> OutputScale:
        """The scale of the verdicts: the judge's own, or what a decision model says on it."""
        return self.prompt.scale if self.api is None else verdict_scale(self.prompt.scale)

    @property
    def model(self) -> str:
        """The name of the model it was gated on, for the lines that show its use; a placeholder if
        simulated.
        """
        gated = str(self.provenance.get("gated_on") or "").partition("@")[0]
        # It stands in lines that people paste, and may come from somebody else's manifest.
        usable = re.fullmatch(r"[\w.:/+-]{1,100}", gated, re.ASCII) is not None
        return gated if usable and not self.provenance.get("simulated") else "your-model"

    @property
    def simulated(self) -> bool:
        """Whether the simulated model gated it, or answered the rows that its decision rule was
        fitted on.
        """
        return bool(self.provenance.get("simulated") or self._fitted_on.get("simulated"))

    @property
    def _fitted_on(self) -> Mapping[str, Any]:  # Any: JSON
        return self.provenance.get("rule_fitted_on") or {}

    @property
    def origin(self) -> str:
        """One line for the head of a file: the version, where it was gated and how, what its rule
        was fitted on.
        """
        line, gated = f"{self.prompt.name}@{self.prompt.version}", self.provenance
        if model := gated.get("gated_on"):
            line += f", gated on {_marked(model, gated.get('simulated'))}: {gated.get('outcome')}"
        else:
            line += ", never gated"
        if fitted := self._fitted_on:
            model = _marked(fitted.get("model"), fitted.get("simulated"))
            line += (
                f"; its decision rule was fitted on {model}, {fitted.get('rows')} rows of"
                f" {fitted.get('dataset')}"
            )
        return line

    @property
    def raw_threshold(self) -> float:
        """The threshold of the judge's own score, before any calibration.

        For a calibrated probability the least float that the rule takes for positive, found by
        bisection, so that no row is decided differently; infinity where the rule takes none.
        """
        rule = self.rule
        if rule.calibration is None or self.scale.kind != "probability":
            return rule.threshold
        low, high = 0.0, 1.0
        if rule.calibration(low) >= rule.threshold:
            return low
        if rule.calibration(high) < rule.threshold:
            return math.inf
        while low < (middle := (low + high) / 2) < high:
            if rule.calibration(middle) >= rule.threshold:
                high = middle
            else:
                low = middle
        return high


def _marked(model: object, simulated: object) -> str:
    return f"{model} [SIMULATED: says nothing about real models]" if simulated else str(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMap:
    """How a tool's score stands for our grade: linear between the ends of the two scales."""

    low: float
    """The tool's score for our lowest grade."""
    high: float
    """The tool's score for our highest grade."""
    how: str
    """The same in a sentence."""
    threshold: float | None
    """The tool's score from which the rule says positive; None where it never does."""

    @classmethod
    def of(cls, context: ExportContext, how: str, *, shares: bool = False) -> ScoreMap:
        """Return the map of a tool whose score is the grade itself, or with `shares` runs from 0 at
        the lowest grade to 1 at the highest.
        """
        scale, threshold = context.scale, context.raw_threshold
        low, high = (0.0, 1.0) if shares else (float(scale.low), float(scale.high))
        ends = cls(low=low, high=high, how=how, threshold=None)
        if not math.isfinite(threshold):
            return ends
        return replace(ends, threshold=ends.tool_score(threshold, scale))

    def tool_score(self, grade: float, scale: OutputScale) -> float:
        """Return the tool's score for a grade of ours."""
        share = (grade - scale.low) / (scale.high - scale.low)
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFiles:
    """The files of one export, and how the judge in them differs from ours."""

    files: Mapping[str, str]
    """Relative name to text; the first is the one people open."""
    own_fences: bool = False
    """Whether the tool derives the fences from prompt and row; else it sends
    `fill(template_messages(prompt), row)`.
    """
    differences: tuple[str, ...] = ()
    """What is not the same judge there, in whole sentences; those of fences and calibration are
    added on writing.
    """
    calibrated: bool = True
    """Whether the rule's calibration is part of what is written."""
    scores: ScoreMap | None = None
    """None where the tool stores a prompt and reads no reply."""
    also_sends: tuple[str, ...] = ()
    """Of `ALSO_SENT`; the sentences are added on writing."""
    unread: tuple[str, ...] = ()
    """Names of forms of reply that we read and the tool leaves unscored, which the differences say
    too.
    """
    unscored: Literal["left out", "counted as 0"] = "left out"
    """What the tool's own average over many rows makes of a row without a verdict; the differences
    say it too.
    """
    usage: str
    """The few lines of code that use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One tool that a judge is exported to."""

    name: str
    """What `--to` calls it."""
    tool: str
    """What people call it, with the version that was tried."""
    write: Callable[[ExportContext], ExportedFiles]
    """Write the files; raises `Refused` where the tool cannot carry the judge."""
    check: str | None = None
    """The script in `checks/` that loads the files in the real tool; None where no tool loads them.
    """
    requires: tuple[str, ...] = ()
    """What pip, or npm for node, installs to run the check; empty where our own environment has it.
    """
    bundled: tuple[str, ...] = ()
    """What it needs of what our own environment has, as pip installs it elsewhere."""
    runtime: Literal["python", "node"] = "python"
    question: Sequence[DecisionApi] = ()
    """The interfaces of the decision models that a judge written for it can ask."""
    push: str | None = None
    """Python that stores the export at `uri` and prints its name there; STEM is the judge's module
    name.
    """
