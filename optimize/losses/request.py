"""What the model that writes a loss is told: the language, its rules, the objective, the scales,
the judge's errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from ...judges import PROBABILITY_METRICS, BoolArray, JudgedDataset, Message, OutputScale, Request
from .axioms import DECLARATIONS, EXTRA, PERFECT
from .classes import Classes
from .expression import (
    CLASS_NAMES,
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_POWER,
    NAMES,
)
from .objective import Objective
from .outcomes import TARGET_SLICE
from .replies import closed, reply_format

LOSS_LIMIT = 4_096
"""Tokens of a loss and of the thinking before it, where the settings of the optimizer model say
nothing.
"""
REQUIRED_DECLARATION = {"fp": "fp_costs_more_than_fn", "fn": "fn_costs_more_than_fp"}
"""What a loss must declare for the direction of the objective."""
LISTED_PAIRS = 12
"""How many pairs of confused classes are listed."""

# Here and not in a file: what the model reads must follow the tables of the language.
_LANGUAGE = """\
The language has numbers, + - * / and powers ** 0 to {power}, comparisons (1 where they hold, else 0), and / or / not, \
`a if c else b`, the functions {functions}
and these names, each one value per row:
{names}
Nothing else exists: no other names or functions, and no attributes, lists, lambdas or statements. \
At most {characters} characters, {nodes} numbers, names and operators, {depth} levels deep. \
in_slice('{slice}') is 1 for a row of the slice under repair, else 0."""  # noqa: E501

_REPLY = """\
Answer with one JSON object and nothing else; the expression stands on one line:
{{"expression": "...", "declares": {{"fp_costs_more_than_fn": {declared}, "fn_costs_more_than_fp": {declared}}}, \
"reason": "one or two sentences for the person who reviews it"}}"""  # noqa: E501

_SYSTEM = """\
You write a loss for improving an LLM judge. Given an objective, write a loss: one expression that says what each \
row's outcome costs, from 0 (nothing) to 1 (the worst).

People say of each row whether it is positive, and so does the judge. A false positive is a row that the judge calls \
positive and people do not; a false negative is a row that people call positive and the judge does not. A right answer \
decides as people do; a perfect one is also as near to people's grade as a right answer can be.

{language}

The loss is tried on every combination of grades, confidence and slice membership, and refused unless everywhere:
- its value is a finite number in [0, 1], also for a row without a verdict;
- a right answer never costs more than any wrong one at the same confidence and slice membership;
- every wrong answer costs at least {extra} more than a perfect one, be it a false positive or a false negative, also \
outside the slice and at confidence 0;
- a wrong answer never costs less when the judge is surer of it;
- a perfect answer costs at most {perfect};
- what it declares holds: take a negative and a positive grade. Where people gave the negative one and the judge the \
positive one, that is a false positive; with the same two grades swapped it is a false negative. Of these two, at the \
same confidence and slice membership, the one that is declared to cost more never costs less, and for some two grades \
it costs more. Where people's scale is not the judge's, grades cannot be swapped: there it never costs less than one \
of the other kind at the same rank_distance or a smaller one. It may declare one of the two or neither, not both.

{reply}

A valid answer, to an objective that objects to false positives:
{example}
It passes since no factor is 0: the cheapest error, a false negative outside the slice at confidence 0, costs \
0.4 * 0.6 * 0.6 = 0.144."""  # noqa: E501

_EXAMPLE = (
    '{"expression": "(fp + 0.4 * fn) * (1 if in_slice(\'target\') else 0.6) * (0.6 + 0.4 *'
    ' confidence)", "declares": {"fp_costs_more_than_fn": true, "fn_costs_more_than_fp": false},'
    ' "reason": "A false positive costs more than twice as much as a false negative; errors outside'
    ' the slice and unsure ones cost less."}'
)

_CLASS_SYSTEM = """\
You write a loss for improving an LLM judge that chooses one of several classes. Given an objective, write a loss: one \
expression that says what each row's outcome costs, from 0 (nothing) to 1 (the worst).

{language}
`label` and `verdict` are no numbers: they can only be compared with the name of a class in quotes, by == or !=.

The loss is tried on every combination of two classes, confidence and slice membership, and refused unless everywhere:
- its value is a finite number in [0, 1], also for a row without a verdict;
- a right answer never costs more than any wrong one at the same confidence and slice membership;
- every wrong class costs at least {extra} more than a right one, also outside the slice and at confidence 0;
- a wrong answer never costs less when the judge is surer of it;
- a right answer costs at most {perfect};
- where the objective is about one class, the errors that it counts cost no less than the same two classes swapped, \
and with some other class more.

{reply}

A valid answer, to an objective that objects to {first} being called {second}:
{example}"""  # noqa: E501


def loss_request(
    objective: Objective,
    slice_description: str,
    refusals: Sequence[str] = (),
    classes: Classes | None = None,
    facts: Sequence[str] = (),
) -> Request:
    """Ask a model to write a loss for an objective and a slice.

    Args:
        objective: What the person wants.
        slice_description: The predicate of the slice under repair, or what stands for it.
        refusals: Why earlier answers were refused, oldest first; each makes another request.
        classes: Those of a judge that chooses; None where it decides yes or no.
        facts: What is known of the scales and of the judge's errors, a line each.
    """
    words = " ".join(objective.text.split())
    lines = [
        f"Objective, in the person's words: {words or objective.describe()}",
        f"Read as: {objective.describe()}",
        f"Slice under repair (in_slice('{TARGET_SLICE}')): {slice_description}",
        *facts,
    ]
    if classes is not None:
        lines.append(f"Classes: {', '.join(map(repr, classes.names))}")
        if classes.fought is not None:
            lines.append(f"The loss must charge more for a wrong row with {classes.fought}.")
    elif objective.direction is not None:
        required = REQUIRED_DECLARATION[objective.direction]
        lines.append(f"The loss must declare {required}: {DECLARATIONS[required]}.")
    else:
        lines.append(
            "The objective is about both kinds of error: the loss need not declare that one costs"
            " more."
        )
    if objective.target in PROBABILITY_METRICS:
        lines.append(
            "Where a verdict has confidence c, brier counts (correct - c) ** 2: a sure wrong answer"
            " should cost most, an unsure right one a little. Below c = 0.5 that would make wrong"
            " answers cheaper than right ones; write max(confidence, 0.55) for c."
        )
    if refusals:
        lines.append("Earlier answers were refused:")
        lines.extend(f"{number}. {reason}" for number, reason in enumerate(refusals, 1))
        lines.append("Write another loss that mends this.")
    return Request(
        messages=(Message("system", _system_text(classes)), Message("user", "\n".join(lines))),
        default_max_tokens=LOSS_LIMIT,
        response_format=_response_format(),
        purpose="loss",
    )


def scale_facts(scale: OutputScale, labels: OutputScale | None) -> list[str]:
    """Say what the names of the language stand for on these scales: which grades there are, and
    their ranks.
    """
    levels = len(scale.levels) or 2
    kind = "grades on" if scale.levels else "gives"
    first = scale.threshold - scale.low
    facts = [
        f"The judge {kind} {scale.describe()}: n_levels is {levels}, pred_rank goes from 0 to"
        f" {levels - 1} and is positive from {first:g} on"
    ]
    facts += [f"  {grade}: {meaning}" for grade, meaning in scale.anchors.items()]
    if labels is not None and labels != scale:
        stretch = (levels - 1) / (labels.high - labels.low)
        ranks = [f"{(grade - labels.low) * stretch:.3g}" for grade in labels.levels]
        among = (
            f"one of {', '.join(ranks)}"
            if 0 < len(ranks) <= LISTED_PAIRS
            else f"from 0 to {levels - 1}"
        )
        facts.append(
            f"People's scale: {labels.describe()}; stretched onto the judge's, label_rank is"
            f" {among}, positive from {(labels.threshold - labels.low) * stretch:.3g} on"
        )
    return facts


def slice_facts(slices: Mapping[str, str]) -> list[str]:
    """Name the saved slices that a loss may weigh.

    Args:
        slices: Their predicates by their names.
    """
    return [
        f"in_slice({name!r}) is 1 for a row of this saved slice, else 0: {slices[name]}"
        for name in slices
    ]


def outcome_facts(judged: JudgedDataset, inside: BoolArray) -> list[str]:
    """Say what the scales are, and count each outcome on the open rows, in the slice under repair
    and outside.

    Args:
        judged: The judge as it is.
        inside: Whether each scored row is in the slice; shape (n,).
    """
    choice = judged.scale.kind == "choice"
    facts = [] if choice else scale_facts(judged.scale, judged.dataset.labels)
    for where, rows in (("in the slice", inside), ("outside of it", ~inside)):
        if rows.any():
            counts = _confusions(judged, rows) if choice else _outcome_counts(judged, rows)
            facts.append(f"The judge on the {int(rows.sum())} open rows {where}: {counts}")
    return facts


def _outcome_counts(judged: JudgedDataset, rows: BoolArray) -> str:
    people, verdict = judged.positive[rows], judged.predicted[rows]
    counts = {
        "true positive": people & verdict,
        "false positive": ~people & verdict,
        "false negative": people & ~verdict,
        "true negative": ~people & ~verdict,
    }
    return ", ".join(f"{int(cell.sum())} {name}" for name, cell in counts.items())


def _confusions(judged: JudgedDataset, rows: BoolArray) -> str:
    """Count the right answers and the pairs of classes that are confused most."""
    names = judged.scale.labels
    pairs = np.stack([judged.label[rows], judged.score[rows]]).astype(np.int64)
    wrong = pairs[:, pairs[0] != pairs[1]]
    different, counts = np.unique(wrong, axis=1, return_counts=True)
    counted = [f"{pairs.shape[1] - wrong.shape[1]} right"]
    for position in np.argsort(-counts, kind="stable")[:LISTED_PAIRS]:
        label, verdict = different[:, position]
        counted.append(f"{counts[position]} {names[label]!r} called {names[verdict]!r}")
    return ", ".join(counted)


def _system_text(classes: Classes | None) -> str:
    language = _LANGUAGE.format(
        power=MAX_POWER,
        functions=", ".join(_signature(name) for name in FUNCTIONS),
        names="\n".join(
            f"- {name}: {meaning}" for name, meaning in (CLASS_NAMES if classes else NAMES).items()
        ),
        characters=MAX_CHARACTERS,
        nodes=MAX_NODES,
        depth=MAX_DEPTH,
        slice=TARGET_SLICE,
    )
    if classes is None:
        reply = _REPLY.format(declared="true or false")
        return _SYSTEM.format(
            language=language, extra=EXTRA, perfect=PERFECT, reply=reply, example=_EXAMPLE
        )
    first, second = classes.names[:2]
    example = {
        "expression": (
            f"(1 if label == {first!r} and verdict == {second!r} else 0.6) * (1 - correct)"
        ),
        "declares": dict.fromkeys(DECLARATIONS, False),
        "reason": f"Calling {first} {second} costs 1, every other error 0.6.",
    }
    return _CLASS_SYSTEM.format(
        language=language,
        extra=EXTRA,
        perfect=PERFECT,
        reply=_REPLY.format(declared="false"),
        first=first,
        second=second,
        example=orjson.dumps(example).decode(),
    )


def _signature(function: str) -> str:
    """Return a function as it is called."""
    if function == "clip":
        return "clip(x, lowest, highest)"
    if function == "in_slice":
        return f"in_slice('{TARGET_SLICE}')"
    fewest, most = FUNCTIONS[function]
    more = ", ..." if most > fewest else ""
    return f"{function}({', '.join('xyz'[:fewest])}{more})"


def _response_format() -> dict[str, Any]:  # Any: JSON schema
    declares = {
        key: {"type": "boolean", "description": meaning} for key, meaning in DECLARATIONS.items()
    }
    text = {"type": "string"}
    fields = {"expression": text, "declares": closed(declares), "reason": text}
    return reply_format("loss", fields)
