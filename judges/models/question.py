"""A typed question of a decision model, and the request that carries it.

Such a model takes a state and typed questions and returns a probability for each answer, without
text. Questions travel as a `Request` of a system message for each and a user message with the
state, all as JSON: record, budget, retries and rates treat it as any other request. Its key has the
interface, the questions and the state, and nothing of how an answer is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import orjson

from ..errors import InputError
from .model import Message, Request

DecisionApi = Literal["decisions", "systemone", "sglang"]
"""Which body an endpoint takes: OpenAI's `/decisions`, `/systemone`, or SGLang's `/decisions`. The
path does not tell it, so that it is a setting of the model."""
QuestionKind = Literal["yes_no", "score", "choice"]

FEWEST, MOST_LEVELS = 2, 10
REPLY_TOKENS = 16
"""Tokens that are reserved for an answer; most services bill none."""

State = str | Mapping[str, str]
"""What is judged: one text, or texts by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What else of an interface is its own than the bodies; those are in `decision_wire.py`."""

    services: str
    """Who takes it."""
    path: str
    most_options: int = 255
    """Of a choice."""
    by_name: bool = False
    """Whether the state and the questions go by name; else the state is one text."""
    names_levels: bool = False
    """Whether the levels of a score are sent with their names."""


INTERFACES: Mapping[DecisionApi, Interface] = {
    "decisions": Interface(services="OpenAI, LiteLLM", path="/decisions", names_levels=True),
    "systemone": Interface(
        services="TypeSafe (Jev), Perplexity, Cloudflare, vLLM", path="/systemone", by_name=True
    ),
    "sglang": Interface(services="SGLang", path="/decisions", most_options=26),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer."""

    name: str
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and its possible answers; of yes/no first no, of a score the lowest first.

    Raises:
        InputError: It has two options of one name.
    """

    kind: QuestionKind
    instructions: str
    options: tuple[Option, ...]

    def __post_init__(self) -> None:
        names = {option.name for option in self.options}
        if len(names) < len(self.options):
            raise InputError(f"a question has two answers of one name: {sorted(names)!r:.200}")

    def require_for(self, api: DecisionApi) -> None:
        """Return if an interface takes so many options.

        Raises:
            InputError: It takes fewer, or more.
        """
        most = INTERFACES[api].most_options if self.kind == "choice" else MOST_LEVELS
        if not FEWEST <= len(self.options) <= most:
            raise InputError(
                f"a {self.kind} question has {FEWEST} to {most} answers, not {len(self.options):,}",
                hint="give the judge a scale of fewer, or ask another interface or a chat model",
            )

    def message(self, api: DecisionApi) -> Message:
        """Return the message that carries the question; the same for every row."""
        body = {"api": api, **asdict(self)}
        return Message("system", orjson.dumps(body).decode())


def question_request(questions: Sequence[Message], state: State, *, repeat: int = 0) -> Request:
    """Return the request that asks the questions of messages about a state."""
    return Request(
        messages=(*questions, Message("user", orjson.dumps(state).decode())),
        temperature=None,
        max_tokens=REPLY_TOKENS * len(questions),
        repeat=repeat,
    )


def read_request(request: Request) -> tuple[list[Question], State]:
    """Return the questions and the state of a request that `question_request` made.

    Raises:
        InputError: It asks something else, such as a text: a decision model writes none.
    """
    try:
        *bodies, state = (orjson.loads(message.content) for message in request.messages)
        questions = [
            Question(
                kind=body["kind"],
                instructions=body["instructions"],
                options=tuple(Option(**option) for option in body["options"]),
            )
            for body in bodies
        ]
    except (ValueError, KeyError, TypeError):
        questions, state = [], ""
    if not questions:
        raise InputError(
            "a decision model answers typed questions and writes no text",
            hint="name a chat model for it, as with --optimizer-model",
        )
    return questions, state
