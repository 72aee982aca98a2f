"""TextGrad behind the Proposer seam; the graph and what is corrected in it stand in
`textgrad_graph`.

What the loss shows is the errors of the slice, and each part of the prompt is a variable; or, in
the view of all rows, every labelled training row, and all parts together are one variable: TextGrad
asks for each variable by itself, and criteria and anchors agree only where one answer holds both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...judges import JudgePrompt, Message, Request
from ..brief import SURVIVAL, Brief
from ..brief_figures import describe_wish
from ..study import READER, Study
from .cases import ShowCases
from .prompt_parts import ROLES, Part, constraints, constraints_by_kind, join_texts, text_of
from .proposer import NoProposal, Proposal, StepBound, View
from .textgrad_graph import CLOSE_TAG, OPEN_TAG, QUESTIONS, Setting, load_graph
from .texts import TEXT_LIMIT, Wanted, Written, with_texts, write_texts
from .workbench import Workbench

Variable = tuple[Part, ...]
"""The parts of a prompt whose texts are one variable."""
MOMENTUM = 3
"""How many earlier texts the optimizer is shown, with how each ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrad:
    """One backward pass over the brief, one optimizer step on each part that may change, or on all
    of them together.
    """

    parts: tuple[Part, ...] = ("criteria",)
    view: View = "errors"
    """What the loss shows: errors of the slice, or all labelled training rows."""
    temperature: float | None = 0.7
    max_tokens: int | None = None
    """Tokens of a reply; None: what the settings of the optimizer model say, else 4,096."""
    retries: int = 2
    """How often a reply without a usable text is asked for again."""
    cases: ShowCases = ShowCases()  # noqa: RUF009  # frozen
    """Makes the cases that stand with the new texts, where `parts` has them."""

    @property
    def name(self) -> str:
        """See `Proposer.name`."""
        return "study" if self.view == "all" else "textgrad"

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        variables = 1 if self.view == "all" else len({*self.parts} - {"cases"})
        again = variables * self.retries
        calls = 2 * variables + again
        # Where all rows do not fit they are read in parts first; `bound_run` counts those calls.
        reading = 1 if self.view == "all" else 0
        return StepBound(
            optimizer=calls, again=again, exchanges=reading + variables + 1 + self.retries
        )

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        if self.view == "all":
            brief = Study.of(brief)
        if not brief.errors:
            return NoProposal("no errors on the training rows")
        parts = self._parts_of(prompt)
        if not parts:
            missing = " and no ".join(part for part in self.parts if part != "cases")
            return NoProposal(f"the prompt has no {missing} to change")
        graph = bench.load("TextGrad", load_graph)
        variables: list[Variable] = [(part,) for part in parts]
        if isinstance(brief, Study):
            variables = [tuple(parts)]
            brief = self._read_parts(brief, parts, bench)
        texts = self._backward(graph, variables, prompt, brief, bench, step)
        feedback = {parts: _feedback(text) for parts, text in texts.items()}
        variables = [parts for parts in variables if feedback[parts]]
        if not variables:
            return NoProposal("the optimizer model gave no feedback")
        written = self._step(
            graph, {parts: texts[parts] for parts in variables}, brief, bench, step
        )
        if all(result.text is None for result in written):
            reasons = "; ".join(dict.fromkeys(result.reason for result in written))
            return NoProposal(f"no usable text after {self.retries + 1} replies: {reasons}")
        new = prompt
        for parts, result in zip(variables, written, strict=True):
            if result.text is not None:
                new = with_texts(new, parts, texts[parts].value)
        if "cases" in self.parts:
            new = self.cases.attach(new, brief, bench)
        return Proposal(
            prompt=replace(new, parent=prompt.version, note=f"textgrad step {step}"),
            gradient="\n".join(g for parts in variables for g in feedback[parts]).strip(),
            tries=max(result.tries for result in written),
        )

    def _read_parts(self, study: Study, parts: Sequence[Part], bench: Workbench) -> Study:
        """Have all rows read into notes, where they do not fit the brief.

        The requests are the same in every step, so that rows and verdicts that stay are read once.
        """
        to_read = study.to_read(parts)
        if not to_read:
            return study
        replies = bench.ask([self._request(text, READER, 0) for text in to_read])
        return replace(study, notes=tuple(reply.text for reply in replies))

    def _backward(
        self,
        graph: Any,
        variables: Sequence[Variable],
        prompt: JudgePrompt,
        brief: Brief,
        bench: Workbench,
        step: int,
    ) -> dict[Variable, Any]:  # Any: TextGrad's
        """Return TextGrad's variables, each with the gradient that the brief gives it."""

        def ask_all(prompts: Sequence[str]) -> list[str]:
            system = graph.backward_system[self.view]
            requests = [self._request(text, system, step) for text in prompts]
            return [reply.text for reply in bench.ask(requests)]

        texts: dict[Variable, Any] = {}
        for parts in variables:
            role_description = "; ".join(ROLES[part] for part in parts)
            texts[parts] = graph.Text(
                _text_of(prompt, parts), requires_grad=True, role_description=role_description
            )
            texts[parts].label, texts[parts].parts = " and ".join(parts), parts
        value = f"{describe_wish(brief.goal)}\nNow: {brief.describe_loss()}"
        loss = graph.BriefLoss()(
            list(texts.values()),
            value,
            lambda text: brief.text(part=text.parts),
            QUESTIONS[self.view],
        )
        loss.backward(graph.Engine(ask_all))
        return texts

    def _step(
        self, graph: Any, texts: Mapping[Variable, Any], brief: Brief, bench: Workbench, step: int
    ) -> list[Written]:
        """Take the optimizer's step on the variables; a text that nobody could write stays as it
        is.
        """
        written: list[Written] = []

        def write_all(prompts: Sequence[str]) -> list[str]:
            texts_to_write: list[Wanted] = []
            for parts, text in zip(texts, prompts, strict=True):
                request = self._request(text, graph.optimizer_system[self.view], step)
                texts_to_write.append(
                    Wanted(
                        prompt=brief.prompt,
                        parts=parts,
                        request=request,
                        tag=OPEN_TAG[1:-1],
                        cap=brief.cap,
                    )
                )
            written.extend(write_texts(texts_to_write, bench.ask, retries=self.retries))
            new = [
                _text_of(brief.prompt, parts) if one.text is None else one.text
                for parts, one in zip(texts, written, strict=True)
            ]
            return [f"{OPEN_TAG}{text}{CLOSE_TAG}" for text in new]

        settings = {text.label: self._setting(brief, parts) for parts, text in texts.items()}
        graph.Optimizer(list(texts.values()), settings, graph.Engine(write_all)).step()
        return written

    def _parts_of(self, prompt: JudgePrompt) -> list[Part]:
        """Return the texts that may change and that the prompt has."""
        passed = {"cases"} if prompt.scale.anchors else {"cases", "anchors"}
        return [part for part in self.parts if part not in passed]

    def _setting(self, brief: Brief, parts: Variable) -> Setting:
        # What TextGrad calls momentum: the last earlier texts. What each mended and broke stands in
        # the brief.
        past = [
            f"\nCandidate {number}. {SURVIVAL}:\n{_text_of(earlier, parts)}\n"
            for number, earlier in brief.earlier[-MOMENTUM:]
        ]
        question = brief.asks_question
        if self.view == "all":
            rules = constraints_by_kind(brief.prompt, parts, brief.cap, question=question)
        else:
            rules = constraints(brief.prompt, parts[0], brief.cap, question=question)
        return Setting(brief=brief.text(part=parts), constraints=rules, past=past)

    def _request(self, text: str, system: str, step: int) -> Request:
        return Request(
            messages=(Message("system", system), Message("user", text)),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            default_max_tokens=TEXT_LIMIT,
            repeat=step,
            purpose="optimizer",
        )


def _text_of(prompt: JudgePrompt, parts: Variable) -> str:
    return join_texts({part: text_of(prompt, part) for part in parts})


def _feedback(text: Any) -> list[str]:  # Any: TextGrad's
    """Return the gradients of a text that say something, in a fixed order: TextGrad keeps a set."""
    gradients = sorted(str(gradient.value) for gradient in text.gradients)
    return [gradient for gradient in gradients if gradient.strip()]
