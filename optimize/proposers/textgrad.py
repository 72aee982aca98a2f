"""TextGrad behind the Proposer seam; the graph and what is corrected in it stand in
`textgrad_graph`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...judges import JudgePrompt, Message, Request
from ..brief import Brief, describe_attempt
from ..brief_figures import describe_wish
from .prompt_parts import ROLES, Part, constraints, text_of, with_text
from .proposer import NoProposal, Proposal, StepBound
from .textgrad_graph import CLOSE_TAG, OPEN_TAG, Setting, load_graph
from .texts import TEXT_LIMIT, Wanted, Written, write_texts
from .workbench import Workbench

MOMENTUM = 3
"""How many earlier texts the optimizer is shown, with how each ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrad:
    """One backward pass over the brief, one optimizer step on each part that may change."""

    name: str = field(default="textgrad", init=False)
    parts: tuple[Part, ...] = ("criteria",)
    temperature: float | None = 0.7
    max_tokens: int | None = None
    """Tokens of a reply; None: what the settings of the optimizer model say, else 4,096."""
    retries: int = 2
    """How often a reply without a usable text is asked for again."""

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        parts = len(self.parts)
        again = parts * self.retries
        calls = 2 * parts + again
        return StepBound(optimizer=calls, again=again, exchanges=parts + 1 + self.retries)

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        if not brief.errors:
            return NoProposal("no errors on the training rows")
        parts: list[Part] = self._parts_of(prompt)
        if not parts:
            names = ("demonstrations" if part == "examples" else part for part in self.parts)
            missing = " and no ".join(names)
            return NoProposal(f"the prompt has no {missing} to change")
        graph = bench.load("TextGrad", load_graph)
        texts = self._backward(graph, parts, prompt, brief, bench, step)
        feedback = {part: _feedback(text) for part, text in texts.items()}
        parts = [part for part in parts if feedback[part]]
        if not parts:
            return NoProposal("the optimizer model gave no feedback")
        written = self._step(graph, {part: texts[part] for part in parts}, brief, bench, step)
        if all(result.text is None for result in written):
            reasons = "; ".join(dict.fromkeys(result.reason for result in written))
            return NoProposal(f"no usable text after {self.retries + 1} replies: {reasons}")
        new = prompt
        for part, result in zip(parts, written, strict=True):
            if result.text is not None:
                new = with_text(new, part, texts[part].value)[0] or new
        return Proposal(
            prompt=replace(new, parent=prompt.version, note=f"textgrad step {step}"),
            gradient="\n".join(g for part in parts for g in feedback[part]).strip(),
            tries=max(result.tries for result in written),
        )

    def _backward(
        self,
        graph: Any,
        parts: Sequence[Part],
        prompt: JudgePrompt,
        brief: Brief,
        bench: Workbench,
        step: int,
    ) -> dict[Part, Any]:  # Any: TextGrad's
        """Return a variable for each part, with the gradient that the brief gives it."""

        def ask_all(prompts: Sequence[str]) -> list[str]:
            requests = [self._request(text, graph.backward_system, step) for text in prompts]
            return [reply.text for reply in bench.ask(requests)]

        texts: dict[Part, Any] = {}
        for part in parts:
            texts[part] = graph.Text(
                text_of(prompt, part), requires_grad=True, role_description=ROLES[part]
            )
            texts[part].label = part
        value = (
            f"{describe_wish(brief.goal)}\nNow: weighted loss {brief.loss:.4f} over"
            f" {int(brief.inside.sum())} rows; lower is better."
        )
        loss = graph.BriefLoss()(
            list(texts.values()), value, lambda text: brief.text(part=text.label)
        )
        loss.backward(graph.Engine(ask_all))
        return texts

    def _step(
        self, graph: Any, texts: Mapping[Part, Any], brief: Brief, bench: Workbench, step: int
    ) -> list[Written]:
        """Take the optimizer's step on the variables; a text that nobody could write stays as it
        is.
        """
        written: list[Written] = []

        def write_all(prompts: Sequence[str]) -> list[str]:
            texts_to_write: list[Wanted] = []
            for part, text in zip(texts, prompts, strict=True):
                request = self._request(text, graph.optimizer_system, step)
                texts_to_write.append(
                    Wanted(prompt=brief.prompt, parts=(part,), request=request, tag=OPEN_TAG[1:-1])
                )
            written.extend(write_texts(texts_to_write, bench.ask, retries=self.retries))
            new = [
                text_of(brief.prompt, part) if one.text is None else one.text
                for part, one in zip(texts, written, strict=True)
            ]
            return [f"{OPEN_TAG}{text}{CLOSE_TAG}" for text in new]

        settings = {part: self._setting(brief, part) for part in texts}
        graph.Optimizer(list(texts.values()), settings, graph.Engine(write_all)).step()
        return written

    def _parts_of(self, prompt: JudgePrompt) -> list[Part]:
        """Return the parts that may change and that the prompt has."""
        empty = {"examples": not prompt.examples, "anchors": not prompt.scale.anchors}
        return [part for part in self.parts if not empty.get(part)]

    def _setting(self, brief: Brief, part: Part) -> Setting:
        # What TextGrad calls momentum: the last earlier texts. What each mended and broke stands in
        # the brief.
        past = [
            f"\nCandidate {number}. {describe_attempt(attempt)}:\n{text_of(attempt.prompt, part)}\n"
            for number, attempt in brief.earlier[-MOMENTUM:]
        ]
        return Setting(
            brief=brief.text(part=part), constraints=constraints(brief.prompt, part), past=past
        )

    def _request(self, text: str, system: str, step: int) -> Request:
        return Request(
            messages=(Message("system", system), Message("user", text)),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            default_max_tokens=TEXT_LIMIT,
            repeat=step,
            purpose="optimizer",
        )


def _feedback(text: Any) -> list[str]:  # Any: TextGrad's
    """Return the gradients of a text that say something, in a fixed order: TextGrad keeps a set."""
    gradients = sorted(str(gradient.value) for gradient in text.gradients)
    return [gradient for gradient in gradients if gradient.strip()]
