"""Running one of DSPy's optimizers on training rows: the metric it raises, the examples it sees,
the proposal.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...judges import Example, JudgePrompt, JudgewrightError, Row
from .demonstrations import SURE, fields_of, human_grade
from .dspy_kit import ROW, VERSION, load_dspy, quietly
from .dspy_search import Search, Stop, outputs_of
from .proposer import NoProposal, Proposal

RESERVED = frozenset(
    {VERSION, ROW, "augmented", "config", "demos", "lm", "new_signature", "prediction", "signature"}
)
"""Names that DSPy takes for its own; an input of such a name cannot be handed over."""
NOTE = "every trial sent the judge's own messages instead of DSPy's ChatAdapter format"


def run_search(search: Search, compile_with: Callable[[Any, Any], None]) -> None:
    """Run one of DSPy's optimizers; why it ended early joins the search's reasons.

    Args:
        search: Rows, cap and findings; the result is read from it, whatever DSPy returns.
        compile_with: Given the loaded classes and the judge's module, compiles it.

    Raises:
        ModelError, BudgetSpent, Interrupted, LossError, Unanswered: From the workbench, untouched.
    """
    kit = search.bench.load("DSPy", load_dspy)
    state = random.getstate()  # DSPy draws names for its predictors from the global generator
    try:
        with (
            quietly(),
            kit.dspy.context(
                lm=kit.open_lm(search), adapter=kit.JudgeAdapter(search), callbacks=[kit.Prefetch(search)],  # noqa: E501
                disable_history=True, num_threads=1, max_errors=1_000_000, track_usage=False,
            ),
        ):  # fmt: skip
            search.judge(search.prompt, search.rows)
            compile_with(kit, kit.open_module(search.prompt))
    except Stop as stop:
        if isinstance(stop.reason, BaseException):
            raise stop.reason from None
        search.reasons.append(stop.reason)
    except JudgewrightError:
        raise
    except kit.dspy.AdapterParseError:  # its message would carry the reply
        search.reasons.append("DSPy could not read the optimizer model's reply")
    except Exception as error:  # noqa: BLE001  # a foreign library's own errors become one reason
        search.reasons.append(f"DSPy could not go on: {type(error).__name__}: {str(error)[:200]}")
    finally:
        random.setstate(state)


def refuse_names(prompt: JudgePrompt) -> NoProposal | None:
    """Say why DSPy cannot hold this judge; None where it can."""
    # DSPy holds inputs and outputs in one namespace.
    clash = sorted({*prompt.inputs} & {*RESERVED, *outputs_of(prompt)})
    if not clash:
        return None
    return NoProposal(f"DSPy cannot take a judge with an input named {clash[0]!r}")


def row_example(
    search: Search, row: Row, shown: Example | None = None
) -> Any:  # Any: a dspy.Example
    """Return a training row as DSPy's example, with the fields of the reply a good judge gives.

    Args:
        search: Knows the prompt, and what it said of the row.
        row: A training row.
        shown: The row as a demonstration; without it the row only ranks.
    """
    judged = search.bench.train.judged
    verdict, _ = search.results.get((search.prompt.version, row.id), (None, 1.0))
    grade = human_grade(row.label or 0.0, judged.dataset.labels, search.prompt.scale)
    own = verdict.rationale if verdict is not None and verdict.score == grade else ""
    inputs = {name: row.inputs[name] for name in search.prompt.inputs}
    fields = fields_of(search.prompt, grade, own, SURE)
    if shown is not None and search.prompt.reply_schema:
        fields = json.loads(shown.reply)
    return (
        load_dspy()
        .dspy.Example(**inputs, **fields, **{ROW: row.id})
        .with_inputs(*search.prompt.inputs)
    )


def metric(search: Search) -> Callable[..., Any]:
    """Return the loss as DSPy's metric: 1 minus the cost, with the row's id where feedback is
    asked.
    """
    kit = load_dspy()
    rows = {row.id: row for row in search.bench.rows}

    def score(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        row, prompt = rows[gold[ROW]], search.prompts[pred[VERSION]]
        search.judge(prompt, [row])
        verdict, cost = search.results[prompt.version, row.id]
        judged = search.bench.train.judged
        right = verdict is not None and judged.is_right(row, verdict)
        if pred_name is not None:
            # Only our own reflection reads it, and looks the row up.
            return kit.dspy.Prediction(score=1.0 - cost, feedback=row.id)
        # With a trace it is asked whether the reply may stand as a demonstration.
        return right if trace is not None else 1.0 - cost

    return score


def conclude(search: Search, *, name: str) -> Proposal | NoProposal:
    """Propose what ranked first on the training rows, or say why nothing did."""
    best = search.best()
    # The current prompt is ranked too, and is no candidate.
    candidates = sum(search.cost(version) is not None for version in search.prompts) - 1
    if best is None:
        reason = (
            f"none of {max(candidates, 0)} prompts did better on {len(search.rows)} training rows"
        )
        return NoProposal("; ".join(dict.fromkeys((reason, *search.reasons))))
    prompt, cost, before = best
    ranked = (
        f"loss {before:.4f} to {cost:.4f} on {len(search.rows)} training rows, {candidates} prompts"
        " ranked"
    )
    note = f"{name} step {search.step}: {ranked}, {search.spent} calls; {NOTE}"
    return Proposal(prompt=replace(prompt, parent=search.prompt.version, note=note), gradient=note)
