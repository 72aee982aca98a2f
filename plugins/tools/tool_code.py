"""Judges that Python code builds as objects of a tool: DeepEval's GEval, metrics of Ragas, judges
of MLflow, signatures of DSPy.

Their criteria and fields stand in arguments and classes; the file is parsed, and nothing of it is
run. What cannot be told without running it is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...judges import InputError, OutputScale
from ...runs.exports import Field, TemplateMessage, TemplatePart, join_literals
from ...runs.imports import ForeignJudge, foreign
from .python_strings import PythonStrings
from .saved_objects import ASKED_BY_TOOL, mlflow_judge

Arguments = Mapping[str, ast.expr]


def read_tool_code(location: str, tree: ast.Module) -> list[ForeignJudge]:
    """Return the judges that a Python file builds, each by the name it is given to.

    Raises:
        InputError: The words of one cannot be told.
    """
    reader = _Reader(location, tree)
    judges: list[ForeignJudge | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            judges.append(reader.called(node))
        elif isinstance(node, ast.ClassDef):
            judges.append(reader.signature(node))
    return [judge for judge in judges if judge is not None]


class _Reader:
    """Reads the calls and classes of one file."""

    def __init__(self, location: str, tree: ast.Module) -> None:
        self._location = location
        self._tree = tree
        self._strings = PythonStrings(tree)

    def called(self, node: ast.Call) -> ForeignJudge | None:
        """Return the judge that a call builds; None where it builds none."""
        kind = ast.unparse(node.func).rpartition(".")[2]
        arguments = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        names = [name for name, value in self._strings.named.items() if value is node]
        string = next(iter(names), "") or self._text(arguments.get("name")) or f"line {node.lineno}"
        judge = None
        if kind == "GEval" and arguments.keys() & {"criteria", "evaluation_steps"}:
            judge = self._geval(arguments, node.lineno)
        elif kind == "AspectCritic" and "definition" in arguments:
            judge = self._critic(self._text(arguments["definition"]))
        elif kind == "DiscreteMetric" and arguments.keys() >= {"prompt", "allowed_values"}:
            judge = self._discrete(arguments)
        elif kind == "make_judge" and "instructions" in arguments:
            values = arguments.get("feedback_value_type")
            truth = values is not None and ast.unparse(values) == "bool"
            words = self._text(arguments["instructions"], double=True)
            judge = mlflow_judge(self._location, words, self._labels(values), truth=truth)
        return _named(judge, string)

    def signature(self, node: ast.ClassDef) -> ForeignJudge | None:
        """Return the judge that a class of `dspy.Signature` declares; None where it is none.

        Raises:
            InputError: It has no docstring or input, or several outputs could be the verdict.
        """
        if not any(ast.unparse(base).rpartition(".")[2] == "Signature" for base in node.bases):
            return None
        inputs, outputs = _fields(node, "InputField"), _fields(node, "OutputField")
        words = ast.get_docstring(node) or ""
        typed = [name for name, field in outputs.items() if ast.unparse(field.annotation) != "str"]
        verdicts = typed or list(outputs)
        if not words or not inputs or len(verdicts) != 1:
            raise InputError(
                f"line {node.lineno}: {node.name} has no docstring, no input, or not one output"
                " that is the verdict",
                hint="put the prompt into a text file with {field} in it",
            )
        kind = outputs[verdicts[0]].annotation
        truth = ast.unparse(kind) == "bool"
        texts = [name for name in outputs if name not in verdicts] or ["reasoning"]
        judge = foreign(
            "DSPy's Signature",
            self._location,
            _messages(words, list(inputs)),
            criteria=words,
            scale=OutputScale(kind="binary", labels=("False", "True"), threshold=1.0)
            if truth
            else None,
            labels=self._labels(kind),
            reply_schema={**dict.fromkeys(texts, "text"), verdicts[0]: "score"},
            notes=(ASKED_BY_TOOL("DSPy"),),
        )
        return _named(judge, node.name)

    def _geval(self, arguments: Arguments, line: int) -> ForeignJudge:
        """Read DeepEval's GEval: it grades from 0 to 10 and compares a tenth of that with its
        threshold, .5 by default.
        """
        criteria = self._text(arguments.get("criteria"))
        steps = self._listed(arguments, "evaluation_steps")
        words = [criteria] if criteria else []
        if steps:
            numbered = enumerate(map(self._text, steps), start=1)
            words.append("\n".join(f"{number}. {step}" for number, step in numbered))
        params = self._listed(arguments, "evaluation_params")
        names = [node.attr.lower() for node in params if isinstance(node, ast.Attribute)]
        strict = self._number(arguments.get("strict_mode"))
        share = 1.0 if strict else self._number(arguments.get("threshold", ast.Constant(value=0.5)))
        if not words or not names or share is None:
            raise InputError(
                f"line {line}: of this GEval the criteria, evaluation_params or threshold cannot be"
                " told without running it",
                hint="write them beside it as constants",
            )
        least = -(-round(share * 1000) // 100)  # the first whole grade that reaches it
        text = "\n\n".join(words)
        return foreign(
            "DeepEval's GEval",
            self._location,
            _messages(text, names),
            criteria=text,
            scale=OutputScale(low=0, high=10, threshold=float(least)),
            reply_schema={"reason": "text", "score": "score"},
            notes=("DeepEval's own words round criteria and steps are not here.",),
        )

    def _critic(self, words: str) -> ForeignJudge:
        """Read Ragas' AspectCritic, which answers 1 where its definition holds."""
        names = ["user_input", "response", *self._sample_fields()]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return foreign(
            "Ragas' AspectCritic",
            self._location,
            _messages(words, names),
            criteria=words,
            scale=OutputScale(kind="binary", threshold=1.0),
            reply_schema={"reason": "text", "verdict": "score"},
            notes=(f"Of the fields that Ragas can show, {listed} are here.",),
        )

    def _sample_fields(self) -> list[str]:
        """Return the further fields of a row that the file's samples have."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        samples = [c for c in calls if ast.unparse(c.func).endswith("SingleTurnSample")]
        sample_fields = {keyword.arg for sample in samples for keyword in sample.keywords}
        more = ("retrieved_contexts", "reference_contexts", "reference")
        return [name for name in more if name in sample_fields]

    def _discrete(self, arguments: Arguments) -> ForeignJudge:
        """Read Ragas' DiscreteMetric, which answers with one of its values beside a reason."""
        message = TemplateMessage(role="user", parts=self._strings.parts(arguments["prompt"]))
        return foreign(
            "Ragas' DiscreteMetric",
            self._location,
            [message],
            labels=self._labels(arguments["allowed_values"]),
            reply_schema={"reason": "text", "value": "score"},
            notes=(ASKED_BY_TOOL("Ragas"),),
        )

    def _text(self, node: ast.expr | None, *, double: bool = False) -> str:
        """Return a constant text with its fields in braces; empty where it is none."""
        mark = "{{{{{}}}}}" if double else "{{{}}}"
        parts = self._strings.parts(node)
        return "".join(p if isinstance(p, str) else mark.format(p.name) for p in parts).strip()

    def _listed(self, arguments: Arguments, key: str) -> list[ast.expr]:
        node = arguments.get(key)
        node = self._strings.named.get(node.id) if isinstance(node, ast.Name) else node
        return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else []

    def _number(self, node: ast.expr | None) -> float | None:
        node = self._strings.named.get(node.id) if isinstance(node, ast.Name) else node
        value = node.value if isinstance(node, ast.Constant) else None
        return float(value) if isinstance(value, int | float) else None

    def _labels(self, node: ast.expr | None) -> tuple[str, ...]:
        """Return the texts of a list, a `Literal` or members of an `Enum`; empty where it is
        none.
        """
        if isinstance(node, ast.Name):
            classes = (n for n in ast.walk(self._tree) if isinstance(n, ast.ClassDef))
            members = next((c.body for c in classes if c.name == node.id), None)
            if members is not None:
                values = [item.value for item in members if isinstance(item, ast.Assign)]
                return _texts(values)
            return self._labels(self._strings.named.get(node.id))
        if isinstance(node, ast.Subscript):
            return self._labels(node.slice)
        return _texts(node.elts) if isinstance(node, ast.List | ast.Tuple | ast.Set) else ()


def _named(judge: ForeignJudge | None, string: str) -> ForeignJudge | None:
    return replace(judge, string=string) if judge else None


def _texts(nodes: Sequence[ast.expr]) -> tuple[str, ...]:
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return tuple(value for value in values if isinstance(value, str))


def _fields(node: ast.ClassDef, kind: str) -> dict[str, ast.AnnAssign]:
    """Return the fields of a class that are made by `kind`."""
    fields: dict[str, ast.AnnAssign] = {}
    for item in node.body:
        match item:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=function)):
                if ast.unparse(function).rpartition(".")[2] == kind:
                    fields[name] = item
            case _:
                pass
    return fields


def _messages(words: str, names: Sequence[str]) -> list[TemplateMessage]:
    """Return one message: the words, and each field under its name."""
    parts: list[TemplatePart] = [words]
    for name in names:
        parts += [f"\n\n{name.replace('_', ' ').capitalize()}:\n", Field(name)]
    return [TemplateMessage(role="user", parts=join_literals(parts))]
