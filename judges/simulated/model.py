"""The simulated model: a deterministic stand-in for a language model, as judge and as optimizer.

As a judge it measures lexical support and lets the directives in the prompt move its decision; as
an optimizer it reads a critique and edits the criteria, sometimes badly; as a loss writer it
answers with an expression; as a reader of objectives it has a table. It sees nothing but the
messages. Its rules are explained in `docs/simulated.md`; its scores say nothing about any real
model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from ..models.model import Completion, Message, Request, TokenLogprob
from ..plain_cases import CASE_FENCE
from .fields import fences, named_texts, outside, pair_of
from .judge import Judge
from .loss_writer import OPENING as LOSS_OPENING
from .loss_writer import write_loss
from .objective_reader import read_objective
from .prompt import Instructions, PromptReader, Scale, properties_of
from .reply import log_probabilities, write_opinion
from .rules import TaskName, load_rules
from .tasks import TaskWriter, basic_instruction
from .text import Reader

if TYPE_CHECKING:
    from ..models.question import Question, State
    from .critic import Critic
    from .writer import Writer

_NOTHING = (
    "There is nothing here to judge: the message holds no source, statement, query or answer."
)
CHARACTERS_PER_TOKEN = 4
"""The token estimate; the simulated model has no tokenizer."""
_PROBABILITY = orjson.dumps(
    {"json_schema": {"schema": {"properties": {"p": {"type": "number", "maximum": 1}}}}}
)
_STEEPNESS = 8.0
"""How p(yes) follows the place on the scale: from .02 to .98."""

_ResponseFormat = Mapping[str, Any] | None  # Any: JSON as the endpoint defines it


class Simulated:
    """The embedded model. It needs no key and no network, and equal requests get equal answers."""

    def __init__(self) -> None:
        self._rules = load_rules()
        self._reader = Reader(self._rules)
        self._prompts = PromptReader(self._rules)
        self._judge = Judge(self._rules, self._reader)
        self._tasks = TaskWriter(self._rules)
        self._read_prompt = lru_cache(self._rules.limits["cached_prompts"])(self._prompt)

    @cached_property
    def _critic(self) -> Critic:
        from .critic import Critic

        return Critic(self._rules, self._reader, self._prompts)

    @cached_property
    def _writer(self) -> Writer:
        from .writer import Writer

        return Writer(self._rules, self._critic, self._prompts)

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return "simulated"

    @property
    def version(self) -> str:
        """See `Rules.version`."""
        return self._rules.version

    @property
    def endpoint(self) -> str:
        """See `Model.endpoint`."""
        return f"simulated:{self.version}"

    @property
    def simulated(self) -> bool:
        """See `Model.simulated`."""
        return True

    async def close(self) -> None:
        """See `Model.close`; there is nothing to release."""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer; see `Model.complete`. No request fails."""
        form = None if "response_format" in unsupported_parameters else request.response_format
        repeat = 0 if "seed" in unsupported_parameters else request.repeat
        temperature = None if "temperature" in unsupported_parameters else request.temperature
        top = None if "logprobs" in unsupported_parameters else request.top_logprobs
        text, logprobs = self._answer(request.messages, form, repeat, temperature, top)
        finish_reason = "stop"
        unlimited = unsupported_parameters >= {"max_tokens", "max_completion_tokens"}
        if request.max_tokens is not None and not unlimited:
            limit = request.max_tokens * CHARACTERS_PER_TOKEN
            if len(text) > limit:
                text, finish_reason = text[:limit], "length"
        return Completion(
            text=text,
            finish_reason=finish_reason,
            tokens_in=sum(_tokens(message.content) for message in request.messages),
            tokens_out=_tokens(text),
            model_returned=self.name,
            fingerprint=f"simulated-{self.version}",
            logprobs=_within(logprobs, len(text)),
        )

    def decide(self, question: Question, state: State, *, repeat: int = 0) -> Sequence[float]:
        """Return a probability for each option of a question, all equal without a text to judge.

        Equal arguments give equal answers; another `repeat` differs a little.
        """
        count = len(question.options)
        pair = pair_of(self._rules.fields, named_texts(state), question.instructions)
        if pair is None:
            return (1.0 / count,) * count
        instructions = self._read_prompt(pair.task, question.instructions, "", _PROBABILITY)
        if question.kind != "yes_no":
            anchors = {option.name: option.meaning for option in question.options}
            scale = Scale(levels=(*anchors,), anchors=anchors, ordered=question.kind == "score")
            instructions = replace(instructions, scale=scale)
        opinion = self._judge.decide(
            pair.task,
            instructions,
            self._reader.features(pair.task, pair.focus, pair.ground),
            repeat=repeat,
            texts=(pair.ground,) if pair.alone else (pair.focus, pair.ground),
        )
        if question.kind != "yes_no":
            return opinion.shares
        yes = 1.0 / (1.0 + math.exp(_STEEPNESS * (0.5 - opinion.position)))
        return (yes, 1.0 - yes) if instructions.scale.low_is_good else (1.0 - yes, yes)

    def _answer(
        self,
        messages: Sequence[Message],
        form: _ResponseFormat,
        repeat: int,
        temperature: float | None,
        top: int | None,
    ) -> tuple[str, tuple[TokenLogprob, ...]]:
        system = "\n\n".join(m.content for m in messages if m.role == "system")
        user = next((m.content for m in reversed(messages) if m.role == "user"), "")
        seed = "\0".join((*(f"{m.role}\0{m.content}" for m in messages), str(repeat)))
        if (reply := read_objective(system, user)) is not None:
            return reply, ()
        if (reply := self._tasks.write(system, user)) is not None:
            return reply, ()
        if (instruction := basic_instruction(system, user)) is not None:
            return self._writer.instruct(instruction, seed), ()
        # The optimizers are recognised by how TextGrad's, and our own, system messages begin.
        lower = system.lower()
        if "gradient (feedback) engine" in lower or lower.startswith("you write notes on"):
            return self._critic.feedback(user, self._writer.criteria_in(user), seed), ()
        if (
            "optimization system that improves text" in lower
            or "improve the criteria of an llm judge" in lower
        ):
            return self._writer.rewrite(system, user, seed), ()
        if system.startswith(LOSS_OPENING):
            return write_loss(self._rules.losses, user, seed), ()
        return self._judge_row(system, user, form, repeat, temperature, top)

    def _judge_row(
        self,
        system: str,
        user: str,
        form: _ResponseFormat,
        repeat: int,
        temperature: float | None,
        top: int | None,
    ) -> tuple[str, tuple[TokenLogprob, ...]]:
        blocks = fences(user)
        # Decided cases are no part of the row; this model learns nothing from them.
        row_start = max((block.end for block in blocks if block.name == CASE_FENCE), default=0)
        user, blocks = user[row_start:], fences(user[row_start:])
        pair = pair_of(self._rules.fields, {block.name: block.text for block in blocks}, system)
        if pair is None:
            return _NOTHING, ()
        clause = outside(user, blocks)
        instructions = self._read_prompt(pair.task, system, clause, orjson.dumps(form))
        opinion = self._judge.decide(
            pair.task,
            instructions,
            self._reader.features(pair.task, pair.focus, pair.ground),
            repeat=repeat,
            temperature=temperature,
            texts=(pair.ground,) if pair.alone else (pair.focus, pair.ground),
        )
        text = write_opinion(self._rules, pair.task, instructions, opinion)
        if top is None:
            return text, ()
        return text, log_probabilities(text, instructions, opinion, top)

    def _prompt(self, task: TaskName, system: str, clause: str, form: bytes) -> Instructions:
        """Return the prompt's instructions; they are read once for the thousands of rows judged."""
        return self._prompts.read(task, system, clause, properties_of(orjson.loads(form)))


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def _within(logprobs: tuple[TokenLogprob, ...], length: int) -> tuple[TokenLogprob, ...]:
    """Keep the tokens that a truncated text still has."""
    end = 0
    for i, token in enumerate(logprobs):
        end += len(token.token)
        if end > length:
            return logprobs[:i]
    return logprobs
