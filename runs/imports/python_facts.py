"""What a Python file says of a judge beside its prompt; the file is parsed, and nothing of it is
run.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping

from .file_facts import (
    COUNTS,
    FAILS,
    LABEL_LISTS,
    LABEL_SCORES,
    PASSES,
    THRESHOLD_NAME,
    VERDICT_NAME,
    Compared,
    FileFacts,
)

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.Eq: "in",
    ast.Is: "in",
    ast.In: "in",
    ast.NotEq: "not in",
    ast.IsNot: "not in",
    ast.NotIn: "not in",
}
_TURNED = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "in": "in", "not in": "not in"}
_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
_ASKED_FOR = (
    "response_format", "response_model", "output_model", "output_type", "output_schema", "output_cls", "result_type",  # noqa: E501
    "schema", "text_format", "pydantic_object", "response_schema",
)  # fmt: skip


def python_facts(text: str, tree: ast.Module) -> FileFacts:
    """Read a Python file, given as text and as it is parsed."""
    reader = _Reader(tree)
    labels, scores = reader.labels()
    thresholds, elsewhere = reader.thresholds()
    return FileFacts(
        comments=_comments(text, tree),
        thresholds=thresholds,
        elsewhere=elsewhere,
        compared=tuple(reader.compared()),
        labels=labels,
        numbers=reader.numbers(),
        scores=scores,
        answer_fields=reader.answer_fields() or {},
    )


def strings_of(tree: ast.Module, node: ast.expr) -> tuple[str, ...]:
    """Return the texts of a list, a `Literal` or an `Enum` of a tree; empty where it is none."""
    return _Reader(tree).strings(node)


def _comments(text: str, tree: ast.Module) -> str:
    """Return comments, those of neighbouring lines as one, and docstrings."""
    lines: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0]] = token.string.lstrip("#: ")
    written = "".join(
        words + (" " if number + 1 in lines else "\n") for number, words in sorted(lines.items())
    )
    owners = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    return "\n".join([written, *(doc for node in owners if (doc := ast.get_docstring(node)))])


class _Reader:
    """Reads one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._parent: dict[ast.AST, ast.AST] = {}
        self._named: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self._parent[child] = node
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                self._named[node.targets[0].id] = node.value
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and node.value is not None
            ):
                self._named[node.target.id] = node.value
        self._classes = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        }

    def _values(self) -> Iterator[tuple[str, ast.expr]]:
        """Yield all that is given a name: constants, arguments of calls, defaults, and keys of
        dictionaries.
        """
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name | ast.Attribute):
                        yield (
                            (target.id if isinstance(target, ast.Name) else target.attr),
                            node.value,
                        )
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and node.value is not None
            ):
                yield node.target.id, node.value
            elif isinstance(node, ast.keyword) and node.arg:
                yield node.arg, node.value
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
            elif isinstance(node, ast.arguments):
                for argument, default in zip(node.args[::-1], node.defaults[::-1], strict=False):
                    yield argument.arg, default
                for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                    if default is not None:
                        yield argument.arg, default

    def thresholds(self) -> tuple[tuple[float, ...], str]:
        """Return the numbers named as a threshold, and the code of one that is taken from
        elsewhere.
        """
        found: dict[float, None] = {}
        elsewhere = ""
        for name, value in self._values():
            if not THRESHOLD_NAME.search(_snake(name)):
                continue
            number = self._number(value)
            if number is not None:
                found[number] = None
            elif not isinstance(value, ast.Name) and not (
                isinstance(value, ast.Constant) and value.value is None
            ):
                elsewhere = f"{name} = {ast.unparse(value)}"
        return tuple(found), "" if found else elsewhere

    def _number(self, node: ast.expr) -> float | None:
        if isinstance(node, ast.Name) and node.id in self._named:
            node = self._named[node.id]
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            return float(node.value)
        return None

    def compared(self) -> Iterator[Compared]:
        """Yield each comparison of a verdict, or of a field of the answer, with a number or with
        labels.
        """
        answered = {name for name, said in (self.answer_fields() or {}).items() if " | " in said}
        for node in ast.walk(self._tree):
            if (
                not isinstance(node, ast.Compare)
                or len(node.ops) != 1
                or type(node.ops[0]) not in _OPERATORS
            ):
                continue
            operator, left, right = _OPERATORS[type(node.ops[0])], node.left, node.comparators[0]
            if isinstance(left, ast.Constant) and isinstance(
                node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE | ast.Eq | ast.NotEq
            ):
                operator, left, right = _TURNED[operator], right, left
            if isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(
                left, ast.Constant
            ):  # "SEND" in reply
                left, right = right, left
            scaled, by = _divided(left)
            number, labels = self._number(right), self.strings(right)
            passes = self._passes(node, right, operator)
            if number is None and not labels:
                continue
            if number is not None and (operator in ("in", "not in") or not _is_verdict(scaled)):
                continue
            if operator == "not in":
                operator, passes = "in", None if passes is None else not passes
            of_verdict = _is_verdict(scaled) or _last_name(scaled) in answered
            yield Compared(
                operator=operator,
                number=(number or 0.0) * by,
                labels=labels,
                passes=passes,
                of_verdict=of_verdict,
                counts=labels != () and self._is_counted(node),
                code=ast.unparse(node),
            )
        for name, value in self._named.items():
            listed = isinstance(value, ast.Set | ast.List | ast.Tuple | ast.Call)
            fails = FAILS.search(name) is not None
            if listed and (fails or PASSES.search(name)) and (labels := self.strings(value)):
                yield Compared(
                    operator="in",
                    labels=labels,
                    passes=not fails,
                    code=f"{name} = {ast.unparse(value)}",
                )

    def _is_counted(self, node: ast.AST) -> bool:
        """Whether a comparison only counts rows, as in `sum(v == "poor" for v in verdicts)`."""
        while isinstance(
            parent := self._parent.get(node), ast.expr | ast.comprehension | ast.keyword
        ):
            called = parent.func if isinstance(parent, ast.Call) else parent
            if isinstance(called, ast.Name | ast.Attribute):
                name = called.id if isinstance(called, ast.Name) else called.attr
                if re.search(COUNTS, name):
                    return True
            node = parent
        return False

    def _passes(self, node: ast.AST, right: ast.expr, operator: str) -> bool | None:
        """Return whether it is true where a row passes: by the names round it, and of what it
        compares with.
        """
        found = self._passes_by_name(node)
        if found is None and isinstance(right, ast.Name | ast.Attribute) and operator != "in":
            name = right.id if isinstance(right, ast.Name) else right.attr
            return operator in (">=", ">") if THRESHOLD_NAME.search(_snake(name)) else None
        return found

    def _passes_by_name(self, node: ast.AST) -> bool | None:
        turned = False
        while node in self._parent:
            child, node = node, self._parent[node]
            name = ""
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                turned = not turned
            elif isinstance(node, ast.Assert):
                return not turned
            elif isinstance(node, ast.Assign):
                name = _target(node.targets[0])
            elif isinstance(node, ast.keyword):
                name = node.arg or ""
            elif isinstance(node, ast.Dict) and child in node.values:
                key = node.keys[node.values.index(child)] if isinstance(child, ast.expr) else None
                name = str(key.value) if isinstance(key, ast.Constant) else ""
            elif isinstance(node, ast.If | ast.For | ast.While):
                return None
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = node.name
            if FAILS.search(name):
                return turned
            if PASSES.search(name):
                return not turned
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                return None
        return None

    def strings(self, node: ast.expr, depth: int = 0) -> tuple[str, ...]:
        """Return the texts of a constant, a list, a `Literal` or members of an `Enum`; empty where
        it is none.
        """
        if depth > 5:
            return ()
        if isinstance(node, ast.Constant):
            return (node.value,) if isinstance(node.value, str) and len(node.value) <= 60 else ()
        if isinstance(node, ast.Name):
            if node.id in self._classes:
                return self._members(node.id)
            return self.strings(self._named[node.id], depth + 1) if node.id in self._named else ()
        if isinstance(node, ast.Attribute):
            if node.attr == "value":
                return self.strings(node.value, depth + 1)
            body = self._classes.get(node.value.id) if isinstance(node.value, ast.Name) else None
            return self.strings(value, depth + 1) if (value := _assigned(body, node.attr)) else ()
        if isinstance(node, ast.Subscript):
            name = ast.unparse(node.value).rpartition(".")[2]
            if name not in ("Literal", "list", "List", "Optional", "Annotated"):
                return ()
            return self.strings(node.slice, depth + 1)
        if (
            isinstance(node, ast.Call)
            and node.args
            and ast.unparse(node.func) in ("set", "frozenset", "tuple", "list")
        ):
            return self.strings(node.args[0], depth + 1)
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            parts = [self.strings(item, depth + 1) for item in node.elts]
            return tuple(text for part in parts for text in part) if all(parts) else ()
        return ()

    def _members(self, name: str) -> tuple[str, ...]:
        body = self._classes[name]
        if not any("Enum" in ast.unparse(base) for base in body.bases):
            return ()
        return tuple(
            node.value.value
            for node in body.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )

    def labels(self) -> tuple[tuple[str, ...], Mapping[str, float]]:
        """Return the labels that are named as such, and the numbers that labels get."""
        labels: tuple[str, ...] = ()
        scores: dict[str, float] = {}
        for name, value in self._values():
            if isinstance(value, ast.Dict) and LABEL_SCORES.search(name):
                keys = [
                    key.value
                    for key in value.keys
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                ]
                numbers = [self._number(number) for number in value.values]
                if len(keys) == len(value.values) > 1 and all(
                    number is not None for number in numbers
                ):
                    scores = {key: number or 0.0 for key, number in zip(keys, numbers, strict=True)}
            elif LABEL_LISTS.search(name):
                found = self.strings(value)
                labels = found if len(found) > 1 else labels
        return labels or tuple(scores), scores

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers that are named as the choices, or both ends where the score is said to
        be continuous.
        """
        for name, value in self._values():
            if LABEL_LISTS.search(name) and isinstance(value, ast.List | ast.Tuple):
                found = [self._number(item) for item in value.elts]
                if len(found) > 1 and all(number is not None for number in found):
                    return tuple(number or 0.0 for number in found)
            if name == "continuous" and isinstance(value, ast.Constant) and value.value is True:
                return 0.0, 0.5, 1.0
        return ()

    def answer_fields(self) -> dict[str, str] | None:
        """Return the fields of the class that is asked for as the answer, else of the one that has
        a verdict.
        """
        asked = [value for name, value in self._values() if name in _ASKED_FOR]
        for node in ast.walk(self._tree):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr == "with_structured_output":
                asked += node.args[:1] if isinstance(node, ast.Call) else []
        for value in asked:
            if isinstance(value, ast.Name) and (schema := self._schema(value.id)):
                return schema
        schemas = [schema for name in self._classes if (schema := self._schema(name))]
        judged = [schema for schema in schemas if any(VERDICT_NAME.search(name) for name in schema)]
        return judged[0] if len(judged) == 1 else None

    def _schema(self, name: str) -> dict[str, str] | None:
        body = self._classes.get(name)
        if body is None or not any(
            re.search(r"BaseModel|TypedDict|Struct", ast.unparse(base)) for base in body.bases
        ):
            return None
        properties = {
            node.target.id: self._property(node)
            for node in body.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        return properties or None

    def _property(self, node: ast.AnnAssign) -> str:
        """Say what the code says of a field: its type, labels, limits and description."""
        texts = self.strings(node.annotation)
        annotation = ast.unparse(node.annotation)
        if len(texts) > 1:
            return " | ".join(f'"{text}"' for text in texts)
        if numbers := re.fullmatch(r"(?:\w+\.)?Literal\[((?:-?\d+(?:, )?)+)\]", annotation):
            return " | ".join(numbers[1].split(", "))
        inner = re.match(r"(?:\w+\.)?(?:Annotated|Optional)\[(\w+)", annotation)
        kind = inner[1] if inner else annotation.partition("[")[0].removeprefix("con")
        said = [_TYPES.get(kind, "string")]
        for call in (
            n for n in (node.value, *ast.walk(node.annotation)) if isinstance(n, ast.Call)
        ):
            given = {k.arg: k.value for k in call.keywords if k.arg}
            low, high = (
                next(
                    (
                        n
                        for key in keys
                        if key in given and (n := self._number(given[key])) is not None
                    ),
                    None,
                )
                for keys in (("ge", "minimum"), ("le", "maximum"))
            )
            if low is not None and high is not None:
                said.append(
                    f"from {low:.1f} to {high:.1f}"
                    if kind == "float"
                    else f"from {low:g} to {high:g}"
                )
            described = given.get("description")
            if isinstance(described, ast.Constant):
                said.append(str(described.value).replace('"', "'"))
        return f"<{', '.join(said)}>"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def _assigned(body: ast.ClassDef | None, name: str) -> ast.expr | None:
    for node in body.body if body else ():
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            return node.value
    return None


def _divided(node: ast.expr) -> tuple[ast.expr, float]:
    """Return an expression without the number that it is divided by, and that number."""
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
    ):
        by = node.right.value
        return (node.left, float(by)) if isinstance(by, int | float) else (node, 1.0)
    return node, 1.0


def _last_name(node: ast.expr) -> str:
    """Return the field that an expression takes: `grounding` of `reply.grounding` and of
    `reply["grounding"]`.
    """
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else ""


def _target(node: ast.expr) -> str:
    """Return what is assigned to: `ok` of `ok`, of `row.ok` and of `frame["ok"]`."""
    return node.id if isinstance(node, ast.Name) else _last_name(node)


def _is_verdict(node: ast.expr) -> bool:
    """Whether an expression is one verdict, by its last names; a mean or a count of verdicts is
    none.
    """
    code = ast.unparse(node)
    if re.search(COUNTS, code):
        return False
    names = re.findall(
        r"[A-Za-z_]\w*",
        re.sub(r"\.(?:strip|lower|upper|casefold|get|value|group)\b(?:\(\))?", "", code),
    )
    return any(VERDICT_NAME.search(_snake(name)) for name in names[-2:])
