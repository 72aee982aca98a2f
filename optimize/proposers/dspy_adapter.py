"""DSPy's optimizers on training rows, kept to our client; the only file that imports DSPy.

DSPy 3.4 (Khattab et al., 2024) supplies the optimizers. The judge becomes a predictor with its own
inputs and reply fields; its criteria are the signature's instructions, its decided cases the
predictor's demonstrations. An adapter of ours renders every trial as the judge's own messages and
reads it with the judge's own reader, so that what is tried is what will be sent, and what DSPy's
ChatAdapter would have sent (its `[[ ## field ## ]]` headers) never is. What the optimizers ask of a
model besides goes through an engine that asks the workbench: no litellm, cache, history or
terminal.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ...judges import (
    Answer,
    CaseBank,
    Cases,
    Completion,
    JudgePrompt,
    JudgewrightError,
    Message,
    OutputScale,
    Request,
    Row,
    Unscored,
    Verdict,
)
from .cases import MOST_TOKENS
from .prompt_parts import same_inputs
from .proposer import NoProposal, Proposal
from .texts import TEXT_LIMIT, too_long
from .workbench import Trial, Workbench

VERSION, ROW = "judgewright_version", "judgewright_row"
"""Fields of ours beside the judge's own, in DSPy's predictions and examples."""
RESERVED = frozenset(
    {VERSION, ROW, "augmented", "config", "demos", "lm", "new_signature", "prediction", "signature"}
)
"""Names that DSPy takes for its own; an input of such a name cannot be handed over."""
TUNING_ROWS = 24
"""Training rows a search ranks prompts on at most."""
LEAST_ROWS = 4
PEOPLE = "as people graded this row"
"""What stands in a text field where nobody gave a reason."""
SURE = 0.9
"""The confidence of a reply in people's name; one that is never unsure cannot be ranked by it."""
NOTE = "every trial sent the judge's own messages instead of DSPy's ChatAdapter format"


class Stop(BaseException):
    """Ends a search at once; not an Exception, because DSPy counts every Exception as a row that
    failed.
    """

    def __init__(self, reason: str | BaseException) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Search:
    """One search on training rows: what it may spend, and what every prompt it tried has cost."""

    prompt: JudgePrompt
    bench: Workbench
    calls: int
    """Requests of judge and optimizer model at most, cached replies included."""
    rows: Sequence[Row]
    """The rows that prompts are ranked on."""
    step: int
    explanation: str | None = None
    """The column with annotators' reasons."""
    spent: int = 0
    own_requests: int = 0
    """Requests of DSPy's own to the optimizer model so far; makes equal ones different."""
    results: dict[tuple[str, str], tuple[Verdict | None, float]] = field(default_factory=dict)
    """Verdict and cost by prompt version and row id."""
    prompts: dict[str, JudgePrompt] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    """What could not be used, and why the search ended early."""

    def judge(self, prompt: JudgePrompt, rows: Sequence[Row]) -> None:
        """Have rows judged at once, those that this prompt has not judged yet."""
        self.prompts.setdefault(prompt.version, prompt)
        open_rows = [row for row in rows if (prompt.version, row.id) not in self.results]
        if not open_rows:
            return
        if reason := too_long(self.prompt, self.prompt.criteria, prompt.criteria):
            # It could never be proposed, so it costs the most and no call.
            self.reasons.append(reason)
            self.results |= {(prompt.version, row.id): (None, 1.0) for row in open_rows}
            return
        with self._spending(len(open_rows)):
            trial = self.bench.try_out(prompt, open_rows)
        for answer, cost in zip(trial.judged.answers, trial.costs.tolist(), strict=True):
            verdict = None if isinstance(answer, Unscored) else answer
            self.results[prompt.version, answer.row_id] = (verdict, cost)

    def ask(self, requests: Sequence[Request]) -> list[Completion]:
        """Ask the optimizer model; see `Workbench.ask`."""
        with self._spending(len(requests)):
            return self.bench.ask(requests)

    @contextlib.contextmanager
    def _spending(self, requests: int) -> Iterator[None]:
        """Count requests before they are made; what ends the run ends the search."""
        if self.spent + requests > self.calls:
            raise Stop(f"the search reached its cap of {self.calls} calls")
        self.spent += requests
        try:
            yield
        except (JudgewrightError, KeyboardInterrupt) as error:
            raise Stop(error) from error

    def trial(self, prompt: JudgePrompt) -> Trial:
        """What a prompt has done so far, on the rows that it has judged."""
        rows: list[Row] = []
        answers: list[Answer] = []
        losses: list[float] = []
        for row in self.bench.rows:
            if (prompt.version, row.id) not in self.results:
                continue
            verdict, cost = self.results[prompt.version, row.id]
            rows.append(row)
            answers.append(verdict or Unscored(row_id=row.id, reason="parse"))
            if verdict is not None and row.label is not None:
                losses.append(cost)
        judged = self.bench.train.judged
        dataset = replace(judged.dataset, rows=tuple(rows))
        return Trial(
            judged=replace(judged, dataset=dataset, answers=tuple(answers)), losses=np.array(losses)
        )

    def cost(self, version: str) -> float | None:
        """The mean cost of a prompt on the ranking rows; None unless it judged all of them."""
        results = [self.results.get((version, row.id)) for row in self.rows]
        costs = [result[1] for result in results if result is not None]
        return sum(costs) / len(costs) if costs and len(costs) == len(results) else None

    def prompt_from(self, criteria: str, demos: Sequence[Any] = ()) -> JudgePrompt:
        """Return the judge prompt that DSPy's instructions and demonstrations stand for."""
        prompt = self.prompt
        cases = prompt.cases
        if demos:
            rows = [self.row_of(demo) for demo in demos]
            labels = self.bench.train.judged.dataset.labels
            bank = CaseBank.of(rows, labels, prompt.inputs, reason=self.explanation)
            cases = Cases(
                bank=bank, count=len(bank), balanced=False, by="fixed", max_tokens=MOST_TOKENS
            )
        # DSPy may take off the white space around instructions that it never changed.
        same = criteria.strip() == prompt.criteria.strip()
        return replace(prompt, criteria=prompt.criteria if same else criteria, cases=cases)

    def row_of(self, inputs: Any) -> Row:  # Any: DSPy's example or a mapping
        """Return the training row with these inputs."""
        key = tuple(str(inputs[name]) for name in self.prompt.inputs)
        return next(row for row in self.bench.rows if same_inputs(self.prompt, row) == key)

    def row_example(self, row: Row) -> Any:  # Any: a dspy.Example
        """Return a training row as DSPy's example, with the fields of the reply a good judge
        gives.
        """
        prompt, judged = self.prompt, self.bench.train.judged
        grade = human_grade(row.label or 0.0, judged.dataset.labels, prompt.scale)
        fields = fields_of(prompt, grade, "", SURE)
        inputs = {name: row.inputs[name] for name in prompt.inputs}
        example = load_dspy().dspy.Example(**inputs, **fields, **{ROW: row.id})
        return example.with_inputs(*prompt.inputs)

    def metric(
        self, gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        """Return the loss as DSPy's metric: 1 minus the cost, with the row's id where feedback is
        asked.
        """
        row = next(row for row in self.bench.rows if row.id == gold[ROW])
        prompt = self.prompts[pred[VERSION]]
        self.judge(prompt, [row])
        verdict, cost = self.results[prompt.version, row.id]
        if pred_name is not None:
            # Only our own reflection reads it, and looks the row up.
            return load_dspy().dspy.Prediction(score=1.0 - cost, feedback=row.id)
        if trace is None:
            return 1.0 - cost
        # With a trace it is asked whether the reply may stand as a demonstration.
        return verdict is not None and self.bench.train.judged.is_right(row, verdict)

    def run(
        self, compile_with: Callable[[Any, Any], object], *, name: str
    ) -> Proposal | NoProposal:
        """Run one of DSPy's optimizers, and propose what ranked first on the training rows, or say
        why nothing did; the result is read from the search, whatever DSPy returns.

        Args:
            compile_with: Given the loaded classes and the judge's module, compiles it.
            name: Of the proposer.

        Raises:
            ModelError, BudgetSpent, Interrupted, LossError, Unanswered: From the workbench.
        """
        # DSPy holds inputs and outputs in one namespace.
        clash = sorted({*self.prompt.inputs} & {*RESERVED, *outputs_of(self.prompt)})
        if clash:
            return NoProposal(f"DSPy cannot take a judge with an input named {clash[0]!r}")
        kit = self.bench.load("DSPy", load_dspy)
        state = random.getstate()  # DSPy draws names for its predictors from the global generator
        try:
            with quietly(), kit.context(self):
                self.judge(self.prompt, self.rows)
                compile_with(kit, kit.open_module(self.prompt))
        except Stop as stop:
            if isinstance(stop.reason, BaseException):
                raise stop.reason from None
            self.reasons.append(stop.reason)
        except JudgewrightError:
            raise
        except kit.dspy.AdapterParseError:  # its message would carry the reply
            self.reasons.append("DSPy could not read the optimizer model's reply")
        except Exception as error:  # noqa: BLE001  # a foreign library's own errors become one reason
            self.reasons.append(f"DSPy could not go on: {type(error).__name__}: {str(error)[:200]}")
        finally:
            random.setstate(state)
        return self._conclude(name)

    def _conclude(self, name: str) -> Proposal | NoProposal:
        ranked: list[tuple[float, str]] = []
        for version in self.prompts:
            if (cost := self.cost(version)) is not None:
                ranked.append((cost, version))
        before = self.cost(self.prompt.version)
        rows = f"{len(self.rows)} training rows"
        # The current prompt is ranked too, and is no candidate.
        if before is None or min(ranked)[0] >= before:
            reason = f"none of {max(len(ranked) - 1, 0)} prompts did better on {rows}"
            return NoProposal("; ".join(dict.fromkeys((reason, *self.reasons))))
        lowest, version = min(ranked)
        note = (
            f"{name} step {self.step}: loss {before:.4f} to {lowest:.4f} on {rows},"
            f" {len(ranked) - 1} prompts ranked, {self.spent} calls; {NOTE}"
        )
        prompt = replace(self.prompts[version], parent=self.prompt.version, note=note)
        return Proposal(prompt=prompt, gradient=note)


def outputs_of(prompt: JudgePrompt) -> tuple[str, ...]:
    """Return the fields of the judge's reply, in order."""
    return tuple(prompt.reply_schema) or ("score",)


def tuning_rows(bench: Workbench, groups: set[str], *, limit: int) -> list[Row]:
    """Draw labelled training rows that belong to none of these groups, in the order of the
    table.
    """
    other_rows = [
        row for row in bench.rows if row.label is not None and (row.group or row.id) not in groups
    ]
    if not other_rows:
        return []
    size = min(TUNING_ROWS, limit, len(other_rows))
    drawn = np.random.default_rng(bench.seed).choice(len(other_rows), size=size, replace=False)
    return [other_rows[i] for i in np.sort(drawn).tolist()]


def human_grade(label: float, labels: OutputScale, scale: OutputScale) -> float:
    """Return the grade on the judge's scale that a label stands for: itself, or the end of the
    scale it lies toward.
    """
    if scale.contains(label) and (scale.levels == labels.levels or scale.kind == "probability"):
        return label
    return float(scale.high if labels.positive(label) else scale.low)


def likeliest_grade(verdict: Verdict, scale: OutputScale) -> float:
    """Return a verdict's grade; of a decision model's, whose score is a probability, the likeliest
    on the judge's own scale.
    """
    if not verdict.distribution or scale.kind == "probability":
        return verdict.score
    best = max(range(len(verdict.distribution)), key=verdict.distribution.__getitem__)
    return float(scale.low + best)


def fields_of(
    prompt: JudgePrompt, grade: float, rationale: str, confidence: float | None
) -> dict[str, object]:
    """Return the fields of a reply in the order of the prompt's schema, the grade as the schema
    writes it.
    """
    texts = [name for name, kind in prompt.reply_schema.items() if kind == "text"]
    lines = rationale.split("\n")
    # The rationale of a verdict is its text fields, a line each; anything else cannot be put back.
    if len(lines) != len(texts) or not all(map(str.strip, lines)):
        lines = [PEOPLE] * len(texts)
    scale = prompt.scale
    score: object = scale.written(grade) if scale.kind == "probability" else int(grade)
    if scale.labels and scale.kind != "probability":
        score = scale.labels[int(grade)]
    if not prompt.reply_schema:
        return {"score": score}
    values: dict[str, object] = {
        "score": score,
        "confidence": SURE if confidence is None else confidence,
    }
    texts_in_order = iter(lines)
    fields: dict[str, object] = {}
    for name, kind in prompt.reply_schema.items():
        fields[name] = next(texts_in_order) if kind == "text" else values[kind]
    return fields


@cache
def load_dspy() -> Any:  # Any: classes that exist only once DSPy is imported
    """Import DSPy and build our subclasses of it; its cache is never built, so that its folder is
    never made.
    """
    import dspy
    from dspy import lm15
    from dspy.propose import GroundedProposer
    from dspy.utils.callback import BaseCallback

    class JudgeAdapter(dspy.ChatAdapter):
        """Renders and reads the judge as Judgewright does; every other signature as DSPy does."""

        def __init__(self, search: Search) -> None:
            super().__init__()
            self.search = search

        def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
            search = self.search
            if tuple(signature.output_fields) != outputs_of(search.prompt):
                return super().__call__(lm, lm_kwargs, signature, demos, inputs)
            prompt = search.prompt_from(signature.instructions, demos)
            row = search.row_of(inputs)
            search.judge(prompt, [row])
            verdict, _ = search.results[prompt.version, row.id]
            if verdict is None:
                fields = dict.fromkeys(outputs_of(prompt), "no verdict could be read")
            else:
                grade = likeliest_grade(verdict, prompt.scale)
                fields = fields_of(prompt, grade, verdict.rationale, verdict.confidence)
            return [{**fields, VERSION: prompt.version}]

    class Prefetch(BaseCallback):
        """Has all rows of an evaluation judged at once, where DSPy would ask for one after the
        other.
        """

        def __init__(self, search: Search) -> None:
            self.search = search

        def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            predictor = inputs["program"].predictors()[0]
            prompt = self.search.prompt_from(predictor.signature.instructions, predictor.demos)
            rows = {row.id: row for row in self.search.bench.rows}
            devset = inputs.get("devset") or instance.devset
            self.search.judge(prompt, [rows[example[ROW]] for example in devset])

    class Engine:
        """Answers DSPy's own requests with the optimizer model."""

        def __init__(self, search: Search) -> None:
            self.search = search

        def complete(self, request: Any) -> Any:  # Any: lm15's
            self.search.own_requests += 1
            messages = [Message(m.role, _plain(m.parts)) for m in request.messages]
            if request.system:
                messages.insert(0, Message("system", _plain(request.system)))
            own = Request(
                messages=tuple(messages),
                temperature=request.config.temperature,
                default_max_tokens=request.config.max_tokens,
                repeat=1_000 * self.search.step + self.search.own_requests,
                purpose="optimizer",
            )
            text = self.search.ask([own])[0].text or " "
            return lm15.Response(
                id="judgewright",
                model=request.model,
                message=lm15.Message.assistant(text),
                finish_reason="stop",
                usage=lm15.Usage(),
            )

    class Grounded(GroundedProposer):
        """Asks for no instruction in place of the first, which is the present one."""

        def propose_instruction_for_predictor(  # type: ignore[override]  # DSPy names every argument
            self, *, predictor: Any, demo_set_i: int, **named: Any
        ) -> str:
            if demo_set_i == 0:
                return str(predictor.signature.instructions)
            return super().propose_instruction_for_predictor(
                predictor=predictor, demo_set_i=demo_set_i, **named
            )

    class Mipro(dspy.MIPROv2):
        """MIPROv2 whose instructions are grounded in a description of ours, not in a summary of
        rows.
        """

        def __init__(self, *, description: str, **settings: Any) -> None:
            super().__init__(**settings)
            self.description = description

        def _propose_instructions(
            self,
            program: Any,
            trainset: Any,
            demo_candidates: Any,
            *_: Any,
            num_instruct_candidates: int,
            **__: Any,
        ) -> Any:
            proposer = Grounded(
                program=program,
                trainset=trainset,
                prompt_model=self.prompt_model,
                rng=self.rng,
                init_temperature=self.init_temperature,
                # They would show the model our source; a tip, such as to give a persona, speaks
                # against the brief.
                program_aware=False,
                use_tip=False,
                set_tip_randomly=False,
                use_instruct_history=False,
                set_history_randomly=False,
                use_dataset_summary=False,
            )
            proposer.use_dataset_summary, proposer.data_summary = True, self.description
            return proposer.propose_instructions_for_program(
                trainset=trainset,
                program=program,
                demo_candidates=demo_candidates,
                N=num_instruct_candidates,
                trial_logs={},
            )

    def context(search: Search) -> Any:
        lm = dspy.LM(
            "judgewright/optimizer",
            engine=Engine(search),
            cache=False,
            num_retries=0,
            temperature=0.7,
            max_tokens=TEXT_LIMIT,
        )
        return dspy.context(
            lm=lm,
            adapter=JudgeAdapter(search),
            callbacks=[Prefetch(search)],
            disable_history=True,
            num_threads=1,
            max_errors=1_000_000,
            track_usage=False,
        )

    def open_module(prompt: JudgePrompt) -> Any:
        fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in prompt.inputs}
        fields |= {name: (Any, dspy.OutputField()) for name in outputs_of(prompt)}
        # Its metaclass takes fields; pyright sees the class.
        return dspy.Predict(cast(Any, dspy.Signature)(fields, prompt.criteria))

    return SimpleNamespace(dspy=dspy, Mipro=Mipro, context=context, open_module=open_module)


def _plain(content: Any) -> str:  # Any: lm15's text or parts
    if isinstance(content, str):
        return content
    return "".join(str(getattr(part, "text", "")) for part in content or ())


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep DSPy, gepa, tqdm and Optuna from the terminal."""
    import optuna

    logger = logging.getLogger("dspy")
    level, verbosity = logger.level, optuna.logging.get_verbosity()
    logger.setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
        optuna.logging.set_verbosity(verbosity)
