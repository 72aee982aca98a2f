"""A judge as a tool has it, what its user says about the import, and the judge of ours that is made
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...judges import JudgePrompt, OutputScale
from ..exports.template_parts import TemplateMessage
from .file_facts import NO_FACTS, FileFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignJudge:
    """A judge read from a tool or a file, before it is one of ours."""

    tool: str
    """The tool with its version, or what the file is."""
    name: str
    location: str
    """Where it was read: a path inside the installation, or the file."""
    syntax: str
    """How fields stand in its text."""
    messages: tuple[TemplateMessage, ...]
    """Under the tool's own names of fields."""
    scale: OutputScale | None = None
    """None where the words have to tell."""
    threshold_open: bool = False
    """Whether the tool gives a scale and says nothing of what passes, so that the file may."""
    beside: FileFacts = NO_FACTS
    """What the file says of it beside the prompt."""
    file: str = ""
    """The file round it, as a model is shown it."""
    labels: tuple[str, ...] = ()
    """The values that the tool allows, in its order."""
    verdict: str = ""
    """The field of its JSON reply that the tool itself takes for the verdict, where its words name
    several.
    """
    reply_schema: Mapping[str, str] | None = None
    """Fields of its JSON reply, as in `JudgePrompt`; empty for prose, None where the words have to
    tell.
    """
    unreadable: str = ""
    """Why its own reply is not one verdict; the reply clause is then replaced."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """Fields that are no row's, and the text that stands for each unless the user gives another."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Fields that are no row's and that the user has to fill, and why."""
    criteria: str = ""
    """The words that are its criteria, where the tool keeps them apart."""
    notes: tuple[str, ...] = ()
    """What is different from the tool, in whole sentences."""
    string: str = ""
    """What its file calls it, where that holds several prompts; `--string` takes it."""
    at: str = ""
    """Where it stands in its file, such as ` (line 7)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJudge:
    """A judge built in code: what `ForeignJudge` takes."""

    tool: str
    messages: tuple[TemplateMessage, ...]
    criteria: str = ""
    scale: OutputScale | None = None
    labels: tuple[str, ...] = ()
    reply_schema: Mapping[str, str] | None = None
    threshold_open: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user says about an import."""

    name: str | None = None
    """What to call the judge."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The tool's name of a field to ours."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """The tool's name of a field to the text that stands there in every row."""
    scale: OutputScale | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions(ImportOptions):
    """What the user says about a prompt of their own."""

    labels: tuple[str, ...] = ()
    """The labels of the answer, the worst first."""
    choice: bool = False
    """Whether the labels have no order."""
    threshold_open: bool = False
    """Whether a scale was given without what passes, so that the words may say it."""
    threshold: str | None = None
    """The grade or label from which a row counts as positive."""
    verdict: str | None = None
    """The field of a JSON answer that is the verdict."""
    criteria: str | None = None
    """The criteria by their words: all of them, or the first and last with `...` between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJudge:
    """A judge of ours, made of a foreign one."""

    prompt: JudgePrompt
    tool: str
    location: str
    syntax: str
    fields: Mapping[str, str]
    """The tool's name of each field to ours."""
    differences: tuple[str, ...]
    """What is not as it was there, in whole sentences; the prompt's note says the same."""
