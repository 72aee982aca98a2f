"""Write a loss as a simulated model would: the declaration that is required to an expression in the
loss language, as JSON.
"""

from __future__ import annotations

import re

import orjson

from .rules import Losses, Side, draw, pick

OPENING = "You write a loss"
_REQUIRED = r"must declare (fp|fn)_costs_more"
_REFUSED = "Earlier answers were refused"
_SLICE = r"in_slice\('([^']{1,80})'\)"
_CLASSES = r"(?m)^Classes: "
_DEARER = r"(?m)^The loss must charge more for a wrong row with ((?:label|verdict) == .+)\.$"


def write_loss(rules: Losses, user: str, seed: str) -> str:
    """Return the JSON reply; a first answer is sometimes outside the language or its rules."""
    required = re.search(_REQUIRED, user)
    side: Side = "even"
    if required:
        side = "fp" if required[1] == "fp" else "fn"
    if _REFUSED not in user and draw(seed, "invalid") < rules.invalid_share:
        expression = pick(rules.invalid, seed, "invalid text")
    else:
        expression = _expression(rules, side, user, seed)
    body = {
        "expression": expression,
        "declares": {
            "fp_costs_more_than_fn": side == "fp",
            "fn_costs_more_than_fp": side == "fn",
        },
        "reason": rules.reasons[side],
    }
    return orjson.dumps(body).decode()


def _expression(rules: Losses, side: Side, user: str, seed: str) -> str:
    if re.search(_CLASSES, user):
        dearer = re.search(_DEARER, user)
        return f"(0.9 if {dearer[1]} else 0.4) * (1 - correct)" if dearer else "0.9 * (1 - correct)"
    choices = {"fp": rules.fp, "fn": rules.fn, "even": rules.even}[side]
    expression = pick(choices, seed, "expression")
    target = re.search(_SLICE, user)
    if target and target[1] != "name" and draw(seed, "slice") < 0.5:
        return f"({expression}) * (1 if in_slice('{target[1]}') else 0.7)"
    return expression
