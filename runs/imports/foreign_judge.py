"""A judge as a tool or a file has it, and what is asked about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...judges import InputError, OutputScale
from ..exports.template_parts import Field, TemplateMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignJudge:
    """A judge read from a tool or a file, before it is one of ours."""

    tool: str
    """The tool with its version, or what the file is."""
    name: str
    location: str
    """Where it was read: a path inside the installation, or the file."""
    messages: tuple[TemplateMessage, ...]
    """Under the tool's own names of fields."""
    scale: OutputScale | None = None
    """As the tool fixes it; None where nothing but the words say it."""
    labels: tuple[str, ...] = ()
    """The values that the tool allows, in its order."""
    reply_schema: Mapping[str, str] | None = None
    """Fields of its JSON reply where the tool fixes them, as in `JudgePrompt`."""
    reply_mark: str = ""
    """Where the verdict stands in its reply of plain text, where the tool fixes it."""
    asks_beside: bool = False
    """Whether the tool asks for the answer in words that are not among its messages."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """Fields that are no row's, and the text that stands for each unless the user gives another."""
    criteria: str = ""
    """The words that are its criteria, where the tool keeps them apart."""
    notes: tuple[str, ...] = ()
    """What is different from the tool, in whole sentences."""
    file: str = ""
    """The file round it, as a model is shown it."""
    string: str = ""
    """What its file calls it, where that holds several prompts; `--string` takes it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What nobody has said of a prompt yet, and a person has to say."""

    option: str
    """The option that answers it, without its dashes."""
    text: str
    form: str
    """How the option is written, such as `--labels WORST,BEST`."""
    labels: tuple[str, ...] = ()
    """The labels whose order is asked for; of a field its name in the prompt and here."""

    def __str__(self) -> str:
        return f"{self.text} ({self.form})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptReader:
    """Reads the prompts of some kinds of files before anything else does; a plug-in brings it."""

    suffixes: tuple[str, ...]
    """Endings of the files that it looks at."""
    read: Callable[[Path, str, str | None], Sequence[ForeignJudge]]
    """Given a file, its text and the name of the one prompt to take, returns the prompts; none
    where they are not for it to read.
    """


def foreign(
    tool: str, location: str, messages: Sequence[TemplateMessage], **more: Any
) -> ForeignJudge:  # Any: fields
    """Return a judge of a file, which has the file's name."""
    name = location.rpartition("/")[2].rpartition(".")[0] or location
    return ForeignJudge(
        tool=tool,
        name=name,
        location=location,
        messages=tuple(messages),
        asks_beside=bool(more.get("reply_schema")),
        **more,
    )


def has_field(judge: ForeignJudge) -> bool:
    """Whether the text of a row goes anywhere."""
    return any(isinstance(part, Field) for message in judge.messages for part in message.parts)


def text_of(judge: ForeignJudge) -> str:
    """Return the messages of a prompt as one text, each field as `{name}`."""
    texts = (
        "".join(f"{{{p.name}}}" if isinstance(p, Field) else p for p in m.parts)
        for m in judge.messages
    )
    return "\n\n".join(texts)


def several(prompts: Sequence[ForeignJudge]) -> InputError:
    """Return the error that asks which of several prompts is meant."""
    names = ", ".join(prompt.string or "one without a name" for prompt in prompts)
    return InputError(
        f"it holds several prompts: {names}",
        hint="say which is the judge with --string NAME, or let a model say it with --model",
    )
