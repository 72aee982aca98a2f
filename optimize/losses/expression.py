"""The language losses are written in: one arithmetic expression over what happened to a row.

A loss comes from a language model, so nothing of it is ever run as Python. The text is scanned,
parsed to a syntax tree, every node of the tree is checked against a list of what is allowed, and
our own evaluator runs it over NumPy columns in float64; the work is bounded by nodes x rows.
"""

from __future__ import annotations

import ast
import copy
import difflib
import functools
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import orjson

from ...judges import BoolArray, FloatArray, IntArray, LossError
from .outcomes import TARGET_SLICE, Outcomes

LANGUAGE = 1
"""Raised when an expression could come to mean something else; part of every loss's hash."""

NAMES: Mapping[str, str] = {
    "correct": "1 where the verdict agrees with people, else 0",
    "fp": "1 for a false positive, else 0",
    "fn": "1 for a false negative, else 0",
    "tp": "1 for a true positive, else 0",
    "tn": "1 for a true negative, else 0",
    "abstained": (
        "1 where the judge gave no verdict (such rows are unscored, so 0 on every row that counts)"
    ),
    "label": "1 where people say positive, else 0",
    "prediction": "1 where the judge says positive, else 0",
    "label_rank": "people's grade as a rank, 0 to n_levels - 1",
    "pred_rank": "the judge's grade as a rank, 0 to n_levels - 1",
    "rank_distance": "how many ranks lie between the two grades",
    "n_levels": "how many grades the scale has",
    "confidence": "the judge's confidence in its verdict, 0 to 1",
}
"""Every name an expression may use about a judge that decides yes or no, and what it stands for."""

CLASS_NAMES: Mapping[str, str] = {
    "correct": "1 where the judge names people's class, else 0",
    "label": "people's class; it can only be compared: label == 'name'",
    "verdict": "the judge's class; likewise: verdict != 'name'",
    "abstained": NAMES["abstained"],
    "confidence": NAMES["confidence"],
}
"""The same of a judge that chooses among classes."""

CLASS_SIDES = ("label", "verdict")

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "min": (2, 8),
    "max": (2, 8),
    "clip": (3, 3),
    "abs": (1, 1),
    "sqrt": (1, 1),
    "log": (1, 1),
    "exp": (1, 1),
    "in_slice": (1, 1),
}
"""Every function, with the fewest and the most arguments it takes."""

MAX_CHARACTERS = 2000
MAX_NODES = 200
MAX_DEPTH = 25
MAX_CONSTANT = 1e6
MAX_POWER = 4
MAX_SLICES = 3
"""Saved slices that one expression may name."""

_TOKEN = re.compile(
    r"""(?: (?: (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+) (?:[eE][+-]?[0-9]+)? (?![A-Za-z0-9_.]) )
          | [A-Za-z_][A-Za-z0-9_]*
          | '[^'"\\\x00-\x1f\x7f]{1,100}' | "[^"\\\x00-\x1f\x7f]{1,100}"
          | \*\* | <= | >= | == | != | [-+*/()<>,]
          | \  )""",
    re.VERBOSE,
)

_ARITHMETIC: Mapping[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[FloatArray, FloatArray], BoolArray]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked expression; two with the same `version` cost every row the same."""

    text: str
    """The expression in one canonical spelling."""
    tree: ast.expr = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits of the hash of the language and the expression."""
        body = orjson.dumps({"language": LANGUAGE, "expression": self.text})
        return hashlib.blake2b(body, digest_size=6).hexdigest()

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers written in the expression, ascending; its value may jump at them."""
        numbers: set[float] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                numbers.add(float(node.value))
        return tuple(sorted(numbers))

    @property
    def slices(self) -> tuple[str, ...]:
        """The saved slices that the expression names, in the order of their names."""
        names = {name for node in ast.walk(self.tree) if (name := _slice_name(node)) is not None}
        return tuple(sorted(names - {TARGET_SLICE}))

    def require_slices(self, slices: Collection[str]) -> None:
        """Make sure that there is every saved slice that the expression names.

        Raises:
            LossError: One is not there.
        """
        for name in self.slices:
            if name not in slices:
                raise LossError(
                    f"there is no slice {name!r}; there is: {', '.join([TARGET_SLICE, *slices])}"
                )

    def given(self, members: Collection[str] = ()) -> Expression:
        """Return the expression for a row of these saved slices and of no other."""
        if not self.slices:
            return self
        tree = _Inside(members).visit(copy.deepcopy(self.tree))
        return Expression(text=ast.unparse(tree), tree=tree)

    def evaluate(
        self,
        outcomes: Outcomes,
        slices: Mapping[str, BoolArray] = MappingProxyType({}),
    ) -> FloatArray:
        """Return the loss of each row, shape (n,), each in [0, 1].

        Args:
            outcomes: What happened to each row.
            slices: By the name of a saved slice, which rows are in it; shape (n,) each.

        Raises:
            LossError: Some row's loss is not in [0, 1], or the rows have no such name or class;
                nothing is clipped silently.
        """
        self.require_slices(slices)
        with np.errstate(all="ignore"):
            value = _value(self.tree, outcomes, {**slices, TARGET_SLICE: outcomes.inside})
        values = np.array(np.broadcast_to(value, (len(outcomes),)), np.float64)
        bad = ~((values >= 0.0) & (values <= 1.0))
        if bad.any():
            first = int(np.argmax(bad))
            raise LossError(
                f"the loss is outside [0, 1] on {int(bad.sum())} of {len(values)} rows, "
                f"for example {values[first]:.6g} for: {outcomes.describe(first)}",
                hint="scale it, or wrap it in clip(..., 0, 1)",
            )
        return values


def compile_expression(text: str) -> Expression:
    """Check an expression against the language and make it ready to evaluate.

    Args:
        text: One expression; line breaks count as spaces.

    Raises:
        LossError: The text is outside the language; the message says where.
    """
    flat = _scan(text)
    try:
        tree = ast.parse(flat, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, SyntaxWarning) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
        raise LossError(f"{flat[:80]!r} is not one expression: {reason}") from None
    _check_size(tree)
    _check(tree)
    expression = Expression(text=ast.unparse(tree), tree=tree)
    if len(expression.slices) > MAX_SLICES:
        raise LossError(
            f"the expression names {len(expression.slices)} saved slices; {MAX_SLICES} are allowed"
        )
    return expression


def _scan(text: str) -> str:
    """Refuse anything that is not a sequence of the language's tokens, before any parser sees
    it.
    """
    if len(text) > MAX_CHARACTERS:
        raise LossError(
            f"the expression has {len(text):,} characters; {MAX_CHARACTERS:,} are allowed"
        )
    flat = re.sub(r"[\r\n\t]", " ", text).strip(" ")
    if not flat:
        raise LossError("the expression is empty")
    position = 0
    while position < len(flat):
        token = _TOKEN.match(flat, position)
        if token is None:
            raise LossError(f"the expression may not contain {flat[position : position + 12]!a}")
        position = token.end()
    return flat


def _check_size(tree: ast.expr) -> None:
    """Bound nodes and depth without recursion, so that no accepted tree can exhaust the stack."""
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    nodes = 0
    while waiting:
        node, depth = waiting.pop()
        nodes += isinstance(node, ast.expr)
        if nodes > MAX_NODES:
            raise LossError(f"the expression has more than {MAX_NODES} parts")
        if depth > MAX_DEPTH:
            raise LossError(f"the expression is nested more than {MAX_DEPTH} deep")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr | ast.keyword):
                waiting.append((child, depth + 1))


def _check(node: ast.expr) -> None:
    """Refuse every node that is not on the list."""
    match node:
        case ast.Constant(value=value):
            if type(value) not in (int, float):
                raise LossError(f"{str(value)[:40]!r} is not a number")
            if not abs(value) <= MAX_CONSTANT:  # type: ignore[arg-type]  # an int or a float, by the line above
                raise LossError(f"a number of the expression is larger than {MAX_CONSTANT:,.0f}")
            return
        case ast.Name(id=name):
            if name not in NAMES and name not in CLASS_NAMES:
                raise LossError(f"{name!r} is not a name of the language{_near(name, NAMES)}")
            return
        case ast.Call():
            _check_call(node)
            return
        case ast.BinOp(op=ast.Pow(), right=power):
            if not (
                isinstance(power, ast.Constant)
                and type(power.value) is int
                and 0 <= power.value <= MAX_POWER
            ):
                raise LossError(
                    f"a power must be a whole number from 0 to {MAX_POWER}, written out"
                )
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            pass
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not()) | ast.BoolOp() | ast.IfExp():
            pass
        case ast.Compare(ops=ops):
            if any(type(op) not in _COMPARISONS for op in ops):
                raise LossError("only < <= > >= == != compare")
            if _compares_classes(node):
                return
        case _:
            raise LossError(
                f"{type(node).__name__} is not part of the language: {ast.unparse(node)[:60]!r}"
            )
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child)


def _compares_classes(node: ast.Compare) -> bool:
    """Whether a comparison is of people's or the judge's class with a name, or with each other.

    Raises:
        LossError: It has the name of a class and is of another form.
    """
    sides = (node.left, *node.comparators)
    names = [
        side for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)
    ]
    classes = [side for side in sides if isinstance(side, ast.Name) and side.id in CLASS_SIDES]
    equality = len(sides) == 2 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    if names and not (equality and len(classes) == 1):
        raise LossError(
            f"{ast.unparse(node)[:60]!r}: a class is compared as in label == 'name' or verdict !="
            " 'name'"
        )
    return equality and len(names) + len(classes) == 2


def _check_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        called = ast.unparse(node.func)[:60]
        raise LossError(f"{called!r} is not a function of the language{_near(called, FUNCTIONS)}")
    name = node.func.id
    at_least, at_most = FUNCTIONS[name]
    if node.keywords or not at_least <= len(node.args) <= at_most:
        number = str(at_least) if at_least == at_most else f"{at_least} to {at_most}"
        raise LossError(f"{name} takes {number} plain arguments")
    if name != "in_slice":
        for argument in node.args:
            _check(argument)
        return
    argument = node.args[0]
    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
        raise LossError("in_slice takes the name of a slice in quotes")


class _Inside(ast.NodeTransformer):
    """Puts 1 or 0 where a saved slice is named."""

    def __init__(self, members: Collection[str]) -> None:
        self.members = members

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """See `ast.NodeTransformer`."""
        name = _slice_name(node)
        if name is not None and name != TARGET_SLICE:
            return ast.Constant(int(name in self.members))
        self.generic_visit(node)
        return node


def _slice_name(node: ast.AST) -> str | None:
    """Return the slice that a call asks about; None for anything else."""
    match node:
        case ast.Call(func=ast.Name(id="in_slice"), args=[ast.Constant(value=str() as name)]):
            return name
    return None


def _near(name: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), n=3)
    if close:
        return f"; near: {', '.join(close)}"
    return f"; there are: {', '.join(names)}"


def _number(name: str, rows: Outcomes) -> FloatArray:
    """Return a column of numbers.

    Raises:
        LossError: The rows have none of this name.
    """
    if name in rows.numbers:
        return rows.numbers[name]
    if name in rows.classes:
        raise LossError(
            f"{name!r} is a class here and no number; compare it, as in {name} == {rows.names[0]!r}"
        )
    kind = "chooses among classes" if rows.classes else "decides yes or no"
    names = CLASS_NAMES if rows.classes else NAMES
    raise LossError(f"there is no {name!r} for a judge that {kind}{_near(name, names)}")


def _compared(node: ast.Compare, rows: Outcomes) -> FloatArray:
    """Return 1 where a comparison of classes holds, else 0."""
    same = np.equal(*(_class(side, rows) for side in (node.left, *node.comparators)))
    return (same if isinstance(node.ops[0], ast.Eq) else ~same).astype(np.float64)


def _class(side: ast.expr, rows: Outcomes) -> IntArray:
    if not rows.classes:
        raise LossError(f"{ast.unparse(side)} is about a class, and this judge decides yes or no")
    if isinstance(side, ast.Name):
        return rows.classes[side.id]
    assert isinstance(side, ast.Constant)
    name = str(side.value)
    if name not in rows.names:
        raise LossError(f"{name!r} is no class of this judge{_near(name, rows.names)}")
    return np.asarray(rows.names.index(name))


def _value(node: ast.expr, rows: Outcomes, slices: Mapping[str, BoolArray]) -> FloatArray:
    """Walk a checked tree; truth is 1.0 and falsehood 0.0, and anything but 0 is true."""

    def value(part: ast.expr) -> FloatArray:
        return _value(part, rows, slices)

    match node:
        case ast.Constant(value=int() | float() as number):
            return np.asarray(number, np.float64)
        case ast.Name(id=name):
            return _number(name, rows)
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](value(left), value(right))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return np.equal(value(operand), 0.0).astype(np.float64)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.negative(value(operand))
        case ast.UnaryOp(operand=operand):
            return value(operand)
        case ast.BoolOp(op=op, values=parts):
            join = np.logical_and if isinstance(op, ast.And) else np.logical_or
            truths = [np.not_equal(value(part), 0.0) for part in parts]
            return functools.reduce(join, truths).astype(np.float64)
        case ast.Compare() if (rows.classes or _names_class(node)) and _compares_classes(node):
            return _compared(node, rows)
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [value(side) for side in (left, *others)]
            truths = [
                _COMPARISONS[type(op)](a, b)
                for op, a, b in zip(ops, values, values[1:], strict=False)
            ]
            return functools.reduce(np.logical_and, truths).astype(np.float64)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            chosen = np.not_equal(value(test), 0.0)
            return np.where(chosen, value(body), value(orelse))
        case ast.Call(func=ast.Name(id="in_slice"), args=[ast.Constant(value=name)]):
            return slices[str(name)].astype(np.float64)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name, [value(argument) for argument in arguments])
    raise LossError(f"{type(node).__name__} is not part of the language")


def _names_class(node: ast.Compare) -> bool:
    return any(
        isinstance(side, ast.Constant) and isinstance(side.value, str)
        for side in (node.left, *node.comparators)
    )


def _call(name: str, values: list[FloatArray]) -> FloatArray:
    if name in ("min", "max"):
        return functools.reduce(np.minimum if name == "min" else np.maximum, values)
    if name == "clip":
        return np.minimum(np.maximum(values[0], values[1]), values[2])
    return {"abs": np.abs, "sqrt": np.sqrt, "log": np.log, "exp": np.exp}[name](values[0])
