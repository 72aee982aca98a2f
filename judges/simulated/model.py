"""The simulated model: a deterministic stand-in for a language model, on both sides of the work.

As a judge it measures lexical support and lets the directives in the prompt move its decision; as an
optimizer it reads a critique and edits the criteria, sometimes badly; as a loss writer it answers with an
expression. It sees nothing but the messages. Its rules stand in `docs/simulated.md`; what it scores says
nothing about any real model.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..models.model import Completion, Message, Request, TokenLogprob
from .critic import Critic
from .fields import FieldFinder, Pair, outside
from .judge import Judge, Shown, position_of
from .loss_writer import LossWriter, asks_for_loss
from .prompt import Instructions, PromptReader, Scale, properties_of
from .reply import log_probabilities, read_score, write_opinion
from .rules import Rules, load_rules
from .tasks import TaskWriter, basic_instruction
from .text import Reader
from .writer import Writer

CHARACTERS_PER_TOKEN = 4
"""The token estimate; the simulated model has no tokenizer."""

_Settings = Mapping[str, Any] | None


class Simulated:
    """The embedded model. It needs no key and no network, and equal requests get equal answers."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or load_rules()
        self._reader = Reader(self._rules)
        self._finder = FieldFinder(self._rules)
        self._prompts = PromptReader(self._rules)
        self._judge = Judge(self._rules, self._reader)
        self._critic = Critic(self._rules, self._reader, self._finder, self._prompts)
        self._writer = Writer(self._rules, self._critic, self._finder, self._prompts)
        self._losses = LossWriter(self._rules, self._finder)
        self._tasks = TaskWriter(self._rules, self._finder)
        self._told: dict[tuple[str, ...], tuple[Instructions, list[Shown]]] = {}
        self._lock = threading.Lock()

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

    async def complete(self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()) -> Completion:
        """Answer; see `Model.complete`. No request fails."""
        form = None if "response_format" in unsupported_parameters else request.response_format
        repeat = 0 if "seed" in unsupported_parameters else request.repeat
        temperature = None if "temperature" in unsupported_parameters else request.temperature
        wants_logprobs = request.top_logprobs is not None and "logprobs" not in unsupported_parameters
        top = request.top_logprobs if wants_logprobs else None
        text, logprobs = self._answer(request.messages, form, repeat, temperature, top)
        limited = {"max_tokens", "max_completion_tokens"} - unsupported_parameters
        limit = request.max_tokens * CHARACTERS_PER_TOKEN if request.max_tokens is not None and limited else None
        cut = limit is not None and len(text) > limit
        text = text[:limit] if cut else text
        return Completion(
            text=text,
            finish_reason="length" if cut else "stop",
            tokens_in=sum(_tokens(m.content) for m in request.messages),
            tokens_out=_tokens(text),
            model_returned=self.name,
            fingerprint=f"simulated-{self.version}",
            logprobs=_within(logprobs, len(text)),
        )

    def _answer(
        self, messages: Sequence[Message], form: _Settings, repeat: int, temperature: float | None, top: int | None
    ) -> tuple[str, tuple[TokenLogprob, ...]]:
        system = "\n\n".join(m.content for m in messages if m.role == "system")
        user = next((m.content for m in reversed(messages) if m.role == "user"), "")
        if (reply := self._tasks.write(system, user)) is not None:
            return reply, ()
        if (instruction := basic_instruction(system, user)) is not None:
            return self._writer.instruct(instruction, _seed(messages, repeat)), ()
        lower = system.lower()
        if "gradient (feedback) engine" in lower:
            return self._critic.feedback(user, self._writer.criteria_in(user), _seed(messages, repeat)), ()
        if "optimization system that improves text" in lower or "improve the criteria of an llm judge" in lower:
            return self._writer.rewrite(system, user, _seed(messages, repeat)), ()
        if asks_for_loss(system, form):
            again = any(m.role == "assistant" for m in messages)
            return self._losses.write(user, _seed(messages, repeat), again=again, response_format=form), ()
        return self._judged(messages, system, user, form, repeat, temperature, top)

    def _judged(
        self,
        messages: Sequence[Message],
        system: str,
        user: str,
        form: _Settings,
        repeat: int,
        temperature: float | None,
        top: int | None,
    ) -> tuple[str, tuple[TokenLogprob, ...]]:
        blocks = self._finder.blocks(user)
        pair = self._finder.pair({b.name: b.text for b in blocks}, system)
        if pair is None:
            return "There is nothing here to judge: the message holds no source, statement, query or answer.", ()
        told, shown = self._instructions(pair, system, outside(user, blocks), form, messages[:-1])
        opinion = self._judge.decide(
            pair.task,
            told,
            self._reader.features(pair.task, pair.focus, pair.ground),
            shown=shown,
            repeat=repeat,
            temperature=temperature,
            texts=(pair.ground,) if pair.alone else (pair.focus, pair.ground),
        )
        text = write_opinion(self._rules, pair.task, told, opinion)
        return text, () if top is None else log_probabilities(text, told, opinion, top)

    def _instructions(
        self, pair: Pair, system: str, clause: str, form: _Settings, before: Sequence[Message]
    ) -> tuple[Instructions, list[Shown]]:
        """Read the prompt and its demonstrations once per task; the thousands of rows after it find them read."""
        key = (pair.task, system, clause, repr(form), *(m.content for m in before))
        known = self._told.get(key)
        if known is None:
            told = self._prompts.read(pair.task, system, clause, properties_of(form))
            known = told, self._shown(before, system, told.scale)
            with self._lock:
                while len(self._told) >= self._rules.limits.cached_prompts:
                    self._told.pop(next(iter(self._told)))
                self._told[key] = known
        return known

    def _shown(self, messages: Sequence[Message], system: str, scale: Scale) -> list[Shown]:
        """Read the demonstrations: a user message with fields, answered by an assistant message with a grade."""
        found = []
        for asked, answered in pairwise(messages):
            if (asked.role, answered.role) != ("user", "assistant"):
                continue
            pair = self._finder.pair({b.name: b.text for b in self._finder.blocks(asked.content)}, system)
            score = read_score(answered.content)
            position = position_of(score, scale) if score is not None else None
            if pair is not None and position is not None:
                features = self._reader.features(pair.task, pair.focus, pair.ground)
                found.append(Shown(features=features, position=position))
        return found


def _seed(messages: Sequence[Message], repeat: int) -> str:
    return "\0".join((*(f"{m.role}\0{m.content}" for m in messages), str(repeat)))


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _within(logprobs: tuple[TokenLogprob, ...], length: int) -> tuple[TokenLogprob, ...]:
    """Keep the tokens that a truncated text still has."""
    kept, at = [], 0
    for token in logprobs:
        at += len(token.token)
        if at > length:
            break
        kept.append(token)
    return tuple(kept)
