"""Prompts and judges that a tool saved as JSON: of LangChain, Ragas and MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...judges import InputError, OutputScale
from ..exports.template_parts import TemplateMessage
from .body_facts import facts_of
from .code_judges import mlflow_messages
from .foreign_judge import ForeignJudge
from .messages import read_langchain
from .template_syntaxes import read_f_string

Body = Mapping[str, Any]  # Any: JSON or YAML


def read_saved_object(path: Path, body: Body, text: str) -> ForeignJudge | None:
    """Read an object that a tool saved; None where it is none.

    Raises:
        InputError: It holds what no prompt of ours can.
    """
    if body.get("type") == "constructor":
        return _langchain(path, body, text)
    if "metric_type" in body or (
        "prompt" in body and "config" in body and "response_model_info" in body
    ):
        return _ragas(path, body)
    if isinstance(augmented := body.get("memory_augmented_judge_data"), Mapping):
        return _mlflow_memory(path, augmented)
    if isinstance(judge := body.get("instructions_judge_pydantic_data"), Mapping):
        return _mlflow(path, judge)
    return None


def _langchain(path: Path, body: Body, text: str) -> ForeignJudge:
    """Read a prompt of LangChain; of a structured one its schema says how to answer, which stands
    in no words.
    """
    messages = read_langchain(text)
    schema = body["kwargs"].get("schema_")
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return _judge(path, "LangChain", messages)
    note = (
        "How to answer stands in words of Judgewright: LangChain sends a schema beside the"
        " messages."
    )
    return _judge(path, "LangChain", messages, beside=facts_of(schema, text), notes=(note,))


def _ragas(path: Path, body: Body) -> ForeignJudge:
    """Read a metric as Ragas saves it: its instruction, and the allowed values as its labels."""
    prompt = body.get("prompt")
    instruction = prompt.get("instruction") if isinstance(prompt, Mapping) else prompt
    if not isinstance(instruction, str):
        raise InputError("the Ragas metric has no prompt.instruction")
    if isinstance(prompt, Mapping) and prompt.get("examples"):
        raise InputError(
            "the Ragas metric has examples, which are not read",
            hint="write them into its instruction",
        )
    allowed = (body.get("config") or {}).get("allowed_values")
    messages = (TemplateMessage(role="user", parts=read_f_string(instruction)),)
    if (
        isinstance(allowed, list)
        and body.get("metric_type") == "NumericMetric"
        and len(allowed) == 2
    ):
        low, high = (float(end) for end in allowed)
        whole = low.is_integer() and high.is_integer() and (low, high) != (0.0, 1.0)
        scale = (
            OutputScale(low=int(low), high=int(high), threshold=float(-(-(low + high) // 2)))
            if whole
            else None
        )
        return _judge(
            path, "Ragas", messages, scale=scale or OutputScale(kind="probability", threshold=0.5)
        )
    return _judge(path, "Ragas", messages, labels=tuple(map(str, allowed or ())))


def _mlflow_memory(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge that MLflow aligned by memory: the judge it began with, and guidelines behind
    its instructions.
    """
    inner = (judge.get("base_judge") or {}).get("instructions_judge_pydantic_data") or {}
    rules = [f"- {guideline['guideline_text']}" for guideline in judge.get("semantic_memory") or ()]
    if rules and "instructions" in inner:
        inner = {
            **inner,
            "instructions": "\n".join([inner["instructions"].rstrip(), "", "Guidelines:", *rules]),
        }
    found = _mlflow(path, inner)
    if not judge.get("episodic_trace_ids"):
        return found
    return replace(
        found, notes=(*found.notes, "The examples that MLflow looks up for each row are not here.")
    )


def _mlflow(path: Path, judge: Body) -> ForeignJudge:
    """Read a judge as MLflow dumps it; how to answer stands in no words of its own, MLflow adds
    them.
    """
    instructions, values = judge.get("instructions"), judge.get("feedback_value_type")
    if not isinstance(instructions, str):
        raise InputError("the MLflow judge has no instructions")
    labels: tuple[str, ...] = ()
    scale = None
    if isinstance(values, Mapping):
        labels = tuple(map(str, values.get("enum") or ()))
        if values.get("type") == "boolean":
            scale = OutputScale(kind="binary", labels=("false", "true"), threshold=1.0)
    messages = mlflow_messages(instructions)
    return _judge(
        path,
        "MLflow",
        messages,
        criteria=messages[0].text({}),
        labels=labels,
        scale=scale,
        reply_schema={"result": "score", "rationale": "text"},
        notes=(
            "How to answer stands in words of Judgewright: MLflow adds them only when it asks.",
        ),
    )


def _judge(
    path: Path, tool: str, messages: tuple[TemplateMessage, ...], **more: Any
) -> ForeignJudge:  # Any: fields
    return ForeignJudge(
        tool=tool,
        name=path.stem,
        location=path.name,
        syntax="as written",
        messages=messages,
        **more,
    )
