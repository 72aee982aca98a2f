"""Instructions: what a model is asked besides judging, such as to split a response into claims.

An instruction is to these tasks what a prompt is to judging: a frozen text under a content-hash
version, filled in one pass with fenced fields, and answered with a JSON object whose fields are
checked once, here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import orjson
import yaml
from pydantic import BaseModel, ConfigDict

from . import instructions
from .errors import BudgetSpent, PromptError
from .files.records import parse_strictly
from .judge import SIMULATED_FINGERPRINT, JudgeSettings
from .models.client import Client
from .models.counters import Progress
from .models.model import Completion, Message, Request
from .prompt import DATA_NOTICE, PLACEHOLDER, TextLoader, check_name, render
from .reply import why_broken
from .reply_reading import MAX_REPLY, without_thinking
from .verdict import UnscoredReason

FieldKind = Literal["text", "texts", "numbers"]
Value = str | tuple[str, ...] | tuple[int, ...]

ASKING = JudgeSettings(max_tokens=4096)
"""How an instruction is asked unless told otherwise; its answers are longer than verdicts."""

_SCHEMAS: Mapping[FieldKind, Mapping[str, Any]] = {  # Any: JSON schema
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "integer"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One task for a model; two instructions with the same `version` show it the same thing."""

    name: str
    system: str
    template: str
    """The user message; `{{name}}` stands for a field of the item."""
    reply: str
    """How the answer must be given; it closes the user message."""
    fields: Mapping[str, FieldKind]
    """Fields of the JSON reply, in order."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if not self.inputs:
            raise PromptError(
                f"instruction {self.name!r}: the template names no field such as {{{{query}}}}"
            )
        if not self.fields:
            raise PromptError(f"instruction {self.name!r}: the reply has no field")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields an item must have, in the order of the template."""
        return tuple(dict.fromkeys(PLACEHOLDER.findall(self.template)))

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits of the hash of all that the model sees."""
        seen = [self.system, self.template, self.reply, list(self.fields.items())]
        return hashlib.blake2b(orjson.dumps(seen), digest_size=6).hexdigest()

    def messages(self, item: Mapping[str, str]) -> tuple[Message, ...]:
        """Render the messages for an item; its text is fenced, never read as a template.

        Raises:
            PromptError: The item lacks a field the template names.
        """
        missing = [name for name in self.inputs if name not in item]
        if missing:
            raise PromptError(
                f"an item has no field {missing[0]!r}; the instruction {self.name!r} needs it"
            )
        inputs = {name: item[name] for name in self.inputs}
        user = f"{render(self.template, inputs, salt=self.version)}\n\n{self.reply.strip()}"
        return Message("system", f"{self.system.strip()}\n\n{DATA_NOTICE}"), Message("user", user)

    @property
    def response_format(self) -> dict[str, Any]:  # Any: JSON schema
        """The JSON schema of the reply, as `response_format`."""
        schema = {
            "type": "object",
            "properties": {name: dict(_SCHEMAS[kind]) for name, kind in self.fields.items()},
            "required": list(self.fields),
            "additionalProperties": False,
        }
        return {
            "type": "json_schema",
            "json_schema": {"name": self.name, "strict": True, "schema": schema},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """An instruction's answer, read: every field there and of its kind."""

    values: Mapping[str, Value]
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """US dollars; None where the price is unknown."""
    simulated: bool = False

    def text(self, name: str) -> str:
        """Return a field of kind `text`."""
        value = self.values[name]
        assert isinstance(value, str), name
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field of kind `texts`."""
        return tuple(value for value in self.values[name] if isinstance(value, str))

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a field of kind `numbers`."""
        return tuple(value for value in self.values[name] if isinstance(value, int))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfilled:
    """An item without an answer, and why; the reasons are those of an unscored row."""

    reason: UnscoredReason
    detail: str = ""


class _InstructionFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["1"]
    name: str
    system: str
    template: str
    reply: str
    fields: dict[str, FieldKind]


@cache
def load_instruction(name: str) -> Instruction:
    """Read a shipped instruction.

    Raises:
        PromptError: There is no such instruction.
    """
    path = files(instructions) / f"{check_name(name)}.yaml"
    if not path.is_file():
        names = sorted(
            f.name.removesuffix(".yaml")
            for f in files(instructions).iterdir()
            if f.name.endswith(".yaml")
        )
        raise PromptError(f"there is no instruction {name!r}", hint=f"there are {', '.join(names)}")
    body = yaml.load(path.read_text(encoding="utf-8"), Loader=TextLoader)  # noqa: S506  # a SafeLoader that reads text only
    parsed = _InstructionFile.model_validate(body)
    return Instruction(**parsed.model_dump(exclude={"format"}))


def ask_instruction(
    instruction: Instruction,
    items: Sequence[Mapping[str, str]],
    client: Client,
    *,
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> list[Filled | Unfilled]:
    """Ask for every item and return the answers in order; one bad reply spoils nothing but its own
    item.

    Raises:
        PromptError: An item lacks a field the template names.
        ModelError: The endpoint refuses every request (a wrong key, an unknown model).
        Interrupted: The person asked to stop; finished calls are recorded.
    """
    answers: dict[int, Filled | Unfilled] = {}
    for i, item in enumerate(items):
        size = sum(len(text) for text in item.values())
        if size > settings.max_chars:
            detail = f"{size:,} characters, the limit is {settings.max_chars:,}"
            answers[i] = Unfilled(reason="oversized", detail=detail)
    sent = [i for i in range(len(items)) if i not in answers]
    requests = [
        Request(
            messages=instruction.messages(items[i]),
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            response_format=instruction.response_format if settings.structured else None,
        )
        for i in sent
    ]
    for i, outcome in zip(sent, client.ask(requests, progress=progress), strict=True):
        if isinstance(outcome, Completion):
            answers[i] = read_answer(instruction, outcome, simulated=client.model.simulated)
        else:
            reason = "budget" if isinstance(outcome, BudgetSpent) else "endpoint"
            answers[i] = Unfilled(reason=reason, detail=str(outcome)[:300])
    return [answers[i] for i in range(len(items))]


def read_answer(
    instruction: Instruction, completion: Completion, *, simulated: bool = False
) -> Filled | Unfilled:
    """Turn a completion into its fields, or into the reason why it has none."""
    broken = why_broken(completion)
    if broken is not None:
        return Unfilled(reason=broken[0], detail=broken[1])
    if len(completion.text) > MAX_REPLY:
        return Unfilled(
            reason="parse", detail=f"a reply of {len(completion.text):,} characters is not read"
        )
    try:
        values = _values(instruction, without_thinking(completion.text))
    except ValueError as error:
        return Unfilled(reason="parse", detail=f"{error}"[:200])
    return Filled(
        values=values,
        tokens_in=completion.tokens_in,
        tokens_out=completion.tokens_out,
        cost=completion.cost,
        simulated=simulated or (completion.fingerprint or "").startswith(SIMULATED_FINGERPRINT),
    )


def number_lines(texts: Sequence[str]) -> str:
    """Write texts as numbered lines, `[1] text`, one line each, so that no text can pass for a line
    of its own.
    """
    return "\n".join(f"[{i}] {' '.join(text.split())}" for i, text in enumerate(texts, 1))


def _values(instruction: Instruction, text: str) -> dict[str, Value]:
    # Small models put a sentence or a fence around the object.
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError(f"no JSON object in {text[:120]!r}")
    body = parse_strictly(text[start : end + 1])
    for name in instruction.fields:
        if name not in body:
            raise ValueError(f"the reply has no field {name!r}")
    return {name: _value(name, kind, body[name]) for name, kind in instruction.fields.items()}


def _value(name: str, kind: FieldKind, value: Any) -> Value:  # Any: JSON from a model
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "texts" and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    if kind == "numbers" and isinstance(value, list):
        return tuple(_number(name, part) for part in value)
    raise ValueError(f"the field {name!r} is not of kind {kind}: {value!r:.80}")


def _number(name: str, value: Any) -> int:  # Any: JSON from a model
    # Small models write a number as text, or in the brackets of its line.
    if isinstance(value, str):
        digits = value.strip("[] \t")
        if digits.isascii() and digits.isdigit() and len(digits) < 10:
            return int(digits)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"the field {name!r} holds {value!r:.40}, which is no whole number")
