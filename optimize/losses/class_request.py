"""What the model that writes a loss is told about a judge that chooses among classes."""

from __future__ import annotations

from .axioms import EXTRA, PERFECT
from .classes import Classes
from .expression import CLASS_NAMES, MAX_CHARACTERS, MAX_DEPTH, MAX_NODES, MAX_POWER
from .outcomes import TARGET_SLICE

_SYSTEM = """\
You write a loss for improving an LLM judge that chooses one of several classes. Given an objective, write a loss: one \
expression that says what each row's outcome costs, from 0 (nothing) to 1 (the worst).

The language has numbers, + - * / and powers ** 0 to {power}, comparisons, and / or / not, `a if c else b`, \
the functions {functions}
and these names, each one number per row:
{names}
`label` and `verdict` are no numbers: they can only be compared with the name of a class in quotes, by == or !=.
Nothing else exists: no other names, attributes, lists, lambdas or statements. \
At most {characters} characters, {nodes} parts, {depth} levels deep. \
in_slice('{slice}') is 1 for a row of the slice under repair, else 0.

An example, which says that a wrong class costs 0.8, but calling {first} {second} costs 1: {example}

The loss is refused unless, for every pair of classes, confidence and slice membership:
- its value is a finite number in [0, 1];
- a right answer never costs more than a wrong one at the same confidence and in the same slice;
- every wrong class costs at least {extra} more than a right one, also outside the slice and at confidence 0;
- a wrong answer never costs less when the judge is surer of it;
- a right answer costs at most {perfect}.

Answer with one JSON object and nothing else:
{{"expression": "...", "declares": {{"fp_costs_more_than_fn": false, "fn_costs_more_than_fp": false}}, \
"reason": "one or two sentences for the person who reviews it"}}"""


def class_system_text(classes: Classes, functions: str) -> str:
    """Return the instructions for a loss over classes.

    Args:
        classes: Which there are, and which errors the objective fights.
        functions: The functions of the language.
    """
    first, second = classes.names[:2]
    example = f"(1 if label == {first!r} and verdict == {second!r} else 0.8) * (1 - correct)"
    return _SYSTEM.format(
        power=MAX_POWER,
        functions=functions,
        names="\n".join(f"- {name}: {meaning}" for name, meaning in CLASS_NAMES.items()),
        characters=MAX_CHARACTERS,
        nodes=MAX_NODES,
        depth=MAX_DEPTH,
        slice=TARGET_SLICE,
        first=first,
        second=second,
        example=example,
        extra=EXTRA,
        perfect=PERFECT,
    )


def class_lines(classes: Classes) -> list[str]:
    """Return what the request for one loss says of the classes, and of the errors that the objective fights."""
    lines = [f"Classes: {', '.join(map(repr, classes.names))}"]
    fought = classes.fought
    if fought is not None:
        lines.append(f"The loss must charge more for a wrong row with {fought}.")
    return lines
