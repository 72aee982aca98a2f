"""Judges that Python code builds as objects of a tool: DeepEval's GEval, metrics of Ragas, judges
of MLflow.

Their criteria and fields stand in arguments and classes; the file is parsed, and nothing of it is
run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from ...judges import InputError, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .dspy_signature import read_signature
from .foreign_judge import CodeJudge
from .python_facts import strings_of
from .python_strings import PythonStrings
from .stated_scale import of_numbers, read_levels
from .template_syntaxes import read_double_brace

_GEVAL_NOTE = (
    "DeepEval's own words round criteria and steps are not here: a sentence of Judgewright's asks"
    " for the score."
)
_REPLY = {"reason": "text", "score": "score"}


def read_code_judge(tree: ast.Module, wanted: str | None) -> CodeJudge | None:
    """Return the judge that a Python file builds; None where it builds none.

    Args:
        tree: The file.
        wanted: The variable, class or `name=` of the one to take, of several.

    Raises:
        InputError: It builds several, or one whose words cannot be told.
    """
    strings = PythonStrings(tree)
    found: dict[str, CodeJudge] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = ast.unparse(node.func).rpartition(".")[2]
            given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            name = next(
                (name for name, value in strings.named.items() if value is node), ""
            ) or _text(given.get("name"), strings)
            name = name or f"line {node.lineno}"
            if kind == "GEval" and given.keys() & {"criteria", "evaluation_steps"}:
                found[name] = _geval(given, strings, node.lineno)
            elif kind == "AspectCritic" and "definition" in given:
                found[name] = _critic(given, strings, tree)
            elif kind == "make_genai_metric" and given.keys() & {"grading_prompt", "definition"}:
                found[name] = _genai_metric(given, strings)
            elif kind == "DiscreteMetric" and given.keys() >= {"prompt", "allowed_values"}:
                found[name] = _discrete_metric(given, strings, tree)
            elif kind in (
                "RubricsScore",
                "RubricsScoreWithReference",
                "RubricsScoreWithoutReference",
            ):
                found[name] = _rubrics_score(given, strings, node, tree)
            elif kind == "make_judge" and "instructions" in given:
                found[name] = _make_judge(given, strings, tree)
        elif isinstance(node, ast.ClassDef) and (
            judge := _pydantic_prompt(node, tree, strings) or read_signature(node, tree)
        ):
            found[node.name] = judge
    if wanted is not None:
        return found.get(wanted)
    if len(found) > 1:
        raise InputError(
            f"it builds several judges: {', '.join(found)}", hint="say which with --string NAME"
        )
    return next(iter(found.values()), None)


def _text(node: ast.expr | None, strings: PythonStrings) -> str:
    """Return a constant text; empty where it is none."""
    parts = strings.parts(node) if node is not None else ()
    return "".join(part if isinstance(part, str) else f"{{{part.name}}}" for part in parts).strip()


def _texts(node: ast.expr | None, strings: PythonStrings) -> list[str]:
    if isinstance(node, ast.Name):
        node = strings.named.get(node.id)
    return (
        [_text(item, strings) for item in node.elts]
        if isinstance(node, ast.List | ast.Tuple)
        else []
    )


def _number(node: ast.expr | None, strings: PythonStrings) -> float | None:
    if isinstance(node, ast.Name):
        node = strings.named.get(node.id)
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, int | float) else None


def _geval(given: Mapping[str, ast.expr], strings: PythonStrings, line: int) -> CodeJudge:
    """Read DeepEval's GEval: it grades from 0 to 10 and compares a tenth of that with its
    threshold, .5 by default.
    """
    criteria, steps = (
        _text(given.get("criteria"), strings),
        _texts(given.get("evaluation_steps"), strings),
    )
    words = [criteria] if criteria else []
    if steps:
        words.append("\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1)))
    rubric = given.get("rubric")
    rubric = strings.named.get(rubric.id) if isinstance(rubric, ast.Name) else rubric
    if isinstance(rubric, ast.List):
        words.append("\n".join(filter(None, (_rubric(item, strings) for item in rubric.elts))))
    params = given.get("evaluation_params")
    params = strings.named.get(params.id) if isinstance(params, ast.Name) else params
    names = [
        node.attr.lower() for node in getattr(params, "elts", []) if isinstance(node, ast.Attribute)
    ]
    if not words or not names:
        raise InputError(
            f"line {line}: of this GEval the criteria or evaluation_params cannot be told without"
            " running it"
        )
    strict = isinstance(mode := given.get("strict_mode"), ast.Constant) and mode.value is True
    share = (
        1.0 if strict else (_number(given["threshold"], strings) if "threshold" in given else 0.5)
    )
    if share is None:
        raise InputError(
            f"line {line}: the threshold of this GEval cannot be told", hint="write it as a number"
        )
    least = -(-round(share * 1000) // 100)  # the first whole grade that reaches it
    return CodeJudge(
        tool="DeepEval's GEval",
        messages=_messages("\n\n".join(words), names),
        criteria="\n\n".join(words),
        scale=OutputScale(low=0, high=10, threshold=float(least)),
        reply_schema=_REPLY,
        notes=(_GEVAL_NOTE,),
    )


def _rubric(node: ast.expr, strings: PythonStrings) -> str:
    if not isinstance(node, ast.Call):
        return ""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    ends = given.get("score_range")
    numbers = [_number(end, strings) for end in ends.elts] if isinstance(ends, ast.Tuple) else []
    if len(numbers) != 2 or None in numbers:
        return ""
    low, high = (f"{number:g}" for number in numbers if number is not None)
    return (
        f"{low if low == high else f'{low} to {high}'}:"
        f" {_text(given.get('expected_outcome'), strings)}"
    )


def _critic(given: Mapping[str, ast.expr], strings: PythonStrings, tree: ast.Module) -> CodeJudge:
    """Read Ragas' AspectCritic, which answers 1 where its definition holds."""
    definition = _text(given["definition"], strings)
    names = _sample_fields(definition, tree)
    return CodeJudge(
        tool="Ragas' AspectCritic",
        messages=_messages(definition, names),
        criteria=definition,
        reply_schema={"reason": "text", "verdict": "score"},
        notes=(_fields_note(names),),
    )


def _sample_fields(words: str, tree: ast.Module) -> list[str]:
    """Return the fields of a row of Ragas: those of the file's samples, and a reference that the
    words speak of.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    samples = [
        call for call in calls if ast.unparse(call.func).rpartition(".")[2] == "SingleTurnSample"
    ]
    shown = {keyword.arg for sample in samples for keyword in sample.keywords}
    if re.search(r"\breference\b", words, re.IGNORECASE):
        shown.add("reference")
    more = [
        name for name in ("retrieved_contexts", "reference_contexts", "reference") if name in shown
    ]
    return ["user_input", "response", *more]


def _fields_note(names: list[str]) -> str:
    return f"Of the fields that Ragas can show, {', '.join(names[:-1])} and {names[-1]} are here."


def _discrete_metric(
    given: Mapping[str, ast.expr], strings: PythonStrings, tree: ast.Module
) -> CodeJudge:
    """Read Ragas' DiscreteMetric, which answers with one of its values beside a reason."""
    return CodeJudge(
        tool="Ragas' DiscreteMetric",
        messages=_one("user", list(strings.parts(given["prompt"]))),
        labels=strings_of(tree, given["allowed_values"]),
        reply_schema={"reason": "text", "value": "score"},
        notes=("How to answer stands in words of Judgewright: Ragas adds them only when it asks.",),
    )


def _genai_metric(given: Mapping[str, ast.expr], strings: PythonStrings) -> CodeJudge:
    """Read MLflow's make_genai_metric: definition and grading prompt, the input, the output and
    what it grades with.
    """
    words = "\n\n".join(
        filter(None, (_text(given.get(key), strings) for key in ("definition", "grading_prompt")))
    )
    input_given = given.get("include_input")
    without = isinstance(input_given, ast.Constant) and input_given.value is False
    names = [
        *([] if without else ["input"]),
        "output",
        *_texts(given.get("grading_context_columns"), strings),
    ]
    better = given.get("greater_is_better")
    falls = isinstance(better, ast.Constant) and better.value is False
    scale = None if falls else read_levels(words) or of_numbers([1.0, 5.0])
    examples = ("Its examples are not here.",) if "examples" in given else ()
    return CodeJudge(
        tool="MLflow's make_genai_metric",
        messages=_messages(words, names),
        criteria=words,
        scale=scale,
        threshold_open=True,
        reply_schema={"justification": "text", "score": "score"},
        notes=("MLflow's own words round definition and grading prompt are not here.", *examples),
    )


def _rubrics_score(
    given: Mapping[str, ast.expr], strings: PythonStrings, call: ast.Call, tree: ast.Module
) -> CodeJudge:
    """Read Ragas' RubricsScore: a description of each grade, the worst first."""
    rubrics = given.get("rubrics")
    rubrics = strings.named.get(rubrics.id) if isinstance(rubrics, ast.Name) else rubrics
    levels: dict[int, str] = {}
    for key, value in (
        zip(rubrics.keys, rubrics.values, strict=True) if isinstance(rubrics, ast.Dict) else ()
    ):
        match = re.search(r"\d+", _text(key, strings))
        if match and (said := _text(value, strings)):
            levels[int(match.group())] = said
    grades = sorted(levels)
    if len(grades) < 3 or grades != list(range(grades[0], grades[-1] + 1)):
        raise InputError(
            f"line {call.lineno}: the rubrics of this RubricsScore cannot be told without"
            " running it",
            hint="write them beside it as a dictionary: score1_description and so on",
        )
    words = "\n".join(f"{grade}: {levels[grade]}" for grade in grades)
    names = _sample_fields(
        "reference" if ast.unparse(call.func).endswith("WithReference") else words, tree
    )
    return CodeJudge(
        tool="Ragas' RubricsScore",
        messages=_messages(words, names),
        criteria=words,
        scale=of_numbers([float(grade) for grade in grades]),
        threshold_open=True,
        reply_schema={"feedback": "text", "score": "score"},
        notes=(_fields_note(names),),
    )


def mlflow_messages(instructions: str) -> tuple[TemplateMessage, TemplateMessage]:
    """Return the messages as MLflow makes them: the instructions name the fields, which it sends
    after them.
    """
    parts = read_double_brace(instructions.strip())
    names = dict.fromkeys(part.name for part in parts if isinstance(part, Field))
    text = "".join(part.name if isinstance(part, Field) else part for part in parts)
    row: list[TemplatePart] = []
    for name in names:
        row += [f"\n\n{name}:\n" if row else f"{name}:\n", Field(name)]
    return TemplateMessage(role="system", parts=(text,)), TemplateMessage(
        role="user", parts=tuple(row)
    )


def _make_judge(
    given: Mapping[str, ast.expr], strings: PythonStrings, tree: ast.Module
) -> CodeJudge:
    """Read MLflow's make_judge; how to answer stands in no words of its own, MLflow adds them."""
    text = "".join(
        part if isinstance(part, str) else f"{{{{{part.name}}}}}"
        for part in strings.parts(given["instructions"])
    )
    values = given.get("feedback_value_type")
    kind = ast.unparse(values) if values is not None else "str"
    messages = mlflow_messages(text)
    return CodeJudge(
        tool="MLflow's make_judge",
        messages=messages,
        criteria=messages[0].text({}),
        labels=strings_of(tree, values) if values is not None else (),
        scale=(
            OutputScale(kind="binary", labels=("false", "true"), threshold=1.0)
            if kind == "bool"
            else None
        ),
        reply_schema={"result": "score", "rationale": "text"},
        notes=(
            "How to answer stands in words of Judgewright: MLflow adds them only when it asks.",
        ),
    )


def _pydantic_prompt(
    node: ast.ClassDef, tree: ast.Module, strings: PythonStrings
) -> CodeJudge | None:
    """Read a class of Ragas' PydanticPrompt: instruction, the fields of its input model, and its
    examples.
    """
    base = next(
        (
            b
            for b in node.bases
            if isinstance(b, ast.Subscript) and "PydanticPrompt" in ast.unparse(b.value)
        ),
        None,
    )
    if base is None or not isinstance(base.slice, ast.Tuple):
        return None
    own = {name: value for item in node.body for name, value in _assignment(item)}
    instruction = _text(own.get("instruction"), strings)
    model = next(
        (
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.ClassDef) and n.name == ast.unparse(base.slice.elts[0])
        ),
        None,
    )
    names = (
        [
            item.target.id
            for item in model.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
        if model
        else []
    )
    if not instruction or not names:
        raise InputError(
            f"line {node.lineno}: the instruction or input model of {node.name} cannot be told"
        )
    turns: list[TemplateMessage] = []
    examples = own.get("examples")
    notes = ("Ragas' own words round the instruction are not here.",)
    for item in getattr(examples, "elts", []):
        pair = [_arguments(call) for call in item.elts] if isinstance(item, ast.Tuple) else []
        if len(pair) != 2 or not all(pair) or set(pair[0]) != set(names):
            notes = (*notes, "Its examples are not here: not all of them are plain constants.")
            turns = []
            break
        shown = tuple(
            str(pair[0][part.name]) if isinstance(part, Field) else part for part in _row(names)
        )
        turns.append(TemplateMessage(role="user", parts=("".join(shown),)))
        turns.append(
            TemplateMessage(role="assistant", parts=(json.dumps(pair[1], ensure_ascii=False),))
        )
    return CodeJudge(
        tool="Ragas' PydanticPrompt",
        messages=(
            TemplateMessage(role="system", parts=(instruction,)),
            *turns,
            TemplateMessage(role="user", parts=_row(names)),
        ),
        notes=notes,
    )


def _assignment(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.value is not None
    ):
        return [(node.target.id, node.value)]
    return []


def _arguments(node: ast.expr) -> dict[str, Any]:  # Any: a constant of Python
    if not isinstance(node, ast.Call):
        return {}
    values = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    if not all(isinstance(value, ast.Constant) for value in values.values()):
        return {}
    return {name: value.value for name, value in values.items() if isinstance(value, ast.Constant)}


def _messages(words: str, names: list[str]) -> tuple[TemplateMessage, ...]:
    return _one("user", [f"{words}\n\n", *_row(names)])


def _one(role: Literal["system", "user"], parts: list[TemplatePart]) -> tuple[TemplateMessage, ...]:
    return (TemplateMessage(role=role, parts=join_literals(parts)),)


def _row(names: list[str]) -> tuple[TemplatePart, ...]:
    """Return the fields, each under its name."""
    parts: list[TemplatePart] = []
    for name in names:
        label = re.sub(r"_", " ", name).capitalize()
        parts += [f"\n\n{label}:\n" if parts else f"{label}:\n", Field(name)]
    return join_literals(parts)
