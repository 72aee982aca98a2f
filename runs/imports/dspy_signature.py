"""A judge that Python code declares as a signature of DSPy: its docstring, its fields, and the one
that judges.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...judges import InputError, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .foreign_judge import CodeJudge
from .python_facts import strings_of

_NOTE = "The fields and how to answer stand in the words in which DSPy says them."


def read_signature(node: ast.ClassDef, tree: ast.Module) -> CodeJudge | None:
    """Read a class of `dspy.Signature`; None where it is none.

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
            f"line {node.lineno}: {node.name} has no docstring, no input, or not one output that is"
            " the verdict",
            hint="put the prompt into a text file with {field} in it",
        )
    kind = outputs[verdicts[0]].annotation
    truth = ast.unparse(kind) == "bool"
    described = [
        f"Your input fields are:\n{_listed(inputs)}",
        f"Your output fields are:\n{_listed(outputs)}",
    ]
    parts: list[TemplatePart] = ["\n\n".join([words, *described, ""])]
    for name in inputs:
        parts += [f"[[ ## {name} ## ]]\n", Field(name), "\n\n"]
    parts.append(
        _reply(
            list(outputs),
            _calls(tree, "ChainOfThought", node.name),
            "True or False" if truth else "",
        )
    )
    return CodeJudge(
        tool="DSPy's Signature",
        messages=(TemplateMessage(role="user", parts=join_literals(parts)),),
        criteria=words,
        scale=(
            OutputScale(kind="binary", labels=("False", "True"), threshold=1.0) if truth else None
        ),
        labels=strings_of(tree, kind),
        notes=(_NOTE,),
    )


def _fields(node: ast.ClassDef, kind: str) -> dict[str, ast.AnnAssign]:
    """Return the fields of a class that are made by `kind`."""
    return {
        item.target.id: item
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and isinstance(item.value, ast.Call)
        and ast.unparse(item.value.func).rpartition(".")[2] == kind
    }


def _listed(fields: Mapping[str, ast.AnnAssign]) -> str:
    """Write fields line by line, each with its type and what it is said to be."""
    lines: list[str] = []
    for number, (name, field) in enumerate(fields.items(), start=1):
        given = field.value.keywords if isinstance(field.value, ast.Call) else []
        said = [
            keyword.value.value
            for keyword in given
            if keyword.arg == "desc" and isinstance(keyword.value, ast.Constant)
        ]
        lines.append(
            f"{number}. `{name}` ({ast.unparse(field.annotation)}): {''.join(map(str, said))}".rstrip(  # noqa: E501
                ": "
            )
        )
    return "\n".join(lines)


def _calls(tree: ast.Module, function: str, argument: str) -> bool:
    """Whether a tree calls a function with a name as its first argument."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return any(
        ast.unparse(call.func).rpartition(".")[2] == function
        and ast.unparse(call.args[0]) == argument
        for call in calls
    )


def _reply(outputs: list[str], reasons: bool, values: str) -> str:
    """Ask for the outputs as DSPy does, a reasoning first where the program has one thought of."""
    names = ["reasoning", *outputs] if reasons and "reasoning" not in outputs else outputs
    first, *rest = (f"`[[ ## {name} ## ]]`" for name in names)
    then = "".join(f", then {name}" for name in rest)
    said = f" ({values})" if values else ""
    return (
        "Respond with the corresponding output fields, starting with the field"
        f" {first}{then}{said}, and then ending with the marker for `[[ ## completed ## ]]`."
    )
