"""What an export is given, what it returns, and how its tool is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...judges import DecisionRule, InputError, JudgePrompt, OutputScale


class Refused(InputError):
    """A judge cannot be written for a tool without becoming another judge; the message says what cannot be carried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportContext:
    """A judge, the rule by which it decides, and where it comes from."""

    prompt: JudgePrompt
    rule: DecisionRule
    provenance: Mapping[str, Any]  # Any: JSON
    """As `finding.provenance` says it (run, gated_on, simulated, outcome, reason), and `verification` beside it."""

    @property
    def simulated(self) -> bool:
        """Whether the model it was gated on was the simulated one."""
        return bool(self.provenance.get("simulated"))

    @property
    def origin(self) -> str:
        """One line for the head of a file: the version, the model it was gated on, the decision."""
        name = f"{self.prompt.name}@{self.prompt.version}"
        model = self.provenance.get("gated_on")
        if not model:
            return f"{name}, never gated"
        shown = f"{model} [SIMULATED: says nothing about real models]" if self.simulated else str(model)
        return f"{name}, gated on {shown}: {self.provenance.get('outcome')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMap:
    """How a tool's number stands for our grade: linear between the two ends."""

    low: float
    """The tool's number for our lowest grade."""
    high: float
    how: str
    """The same in a sentence."""

    def of(self, grade: float, scale: OutputScale) -> float:
        """Return the tool's number for a grade."""
        return self.low + (grade - scale.low) / (scale.high - scale.low) * (self.high - self.low)

    def grade(self, number: float, scale: OutputScale) -> float:
        """Return our grade for the tool's number."""
        return scale.low + (number - self.low) / (self.high - self.low) * (scale.high - scale.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFiles:
    """The files of one export and what has to be said about them."""

    files: Mapping[str, str]
    """Relative name to text; the first is the one people open."""
    exact: bool
    """Whether the tool sends exactly `fill(template_messages(prompt), row)`."""
    own_fences: bool = False
    """Whether it derives the fences from prompt and row, and so sends exactly what Judgewright sends."""
    differences: tuple[str, ...] = ()
    """What is not the same judge there, in whole sentences; those of fences and calibration are added on writing."""
    carries: tuple[str, ...] | None = None
    """Where not exact: the texts that must stand unaltered in what the tool sends; system and criteria unless given."""
    calibrated: bool = False
    """Whether the rule's calibration is part of what is written."""
    scores: ScoreMap | None = None
    """None where the tool stores a prompt and reads no reply."""
    usage: str
    """The few lines of code that use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One tool a judge can be handed to."""

    name: str
    """What `--to` calls it."""
    tool: str
    """What people call it, with the version that was tried."""
    write: Callable[[ExportContext], ExportedFiles]
    probe: str | None = None
    """A stand-alone script in `checks/` that loads the files in the real tool; None where no tool loads them."""
    requires: tuple[str, ...] = field(default=())
    """What pip, or npm for node, installs to run the probe; empty where our own environment has it."""
    runtime: Literal["python", "node"] = "python"
    push: str | None = None
    """Python that stores the export at `uri` and prints what it is called there; STEM is the judge's module name."""
