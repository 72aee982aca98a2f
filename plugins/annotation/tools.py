"""Tools whose exports hold people's labels: Label Studio, Langfuse, MLflow and promptfoo."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from ...judges.datasets.release import as_number, table_files
from ...judges.datasets.source import Flat, Read, ReadOptions, Source
from ...judges.errors import DataError
from ...judges.files.problems import shorten
from .annotated import Body, Item, PersonAnswer, decoded, first_of, flat, read_bodies, rows_of

Answers = defaultdict[str, list[PersonAnswer]]
_VALUES = ("choices", "rating", "number", "text", "taxonomy")
"""Where a result of Label Studio keeps what was answered, by its type."""
_TASK_COLUMNS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""Columns of Label Studio's JSON-MIN and CSV that are neither texts nor answers."""


def _read_items(
    item_of: Callable[[int, Body, ReadOptions], Item],
    path: Path,
    options: ReadOptions,
    notes: list[str],
) -> Iterator[Flat]:
    """Yield a row for each item of an export, a line or a record each.

    Raises:
        InputError: Several questions were asked, and none is named.
        DataError: A file is no such export, or an answer is no grade.
    """
    for file in table_files(path):
        items: dict[str, Item] = {}
        for at, body in read_bodies(file):
            item = item_of(at, body, options)
            first = items.setdefault(item.id, item)
            # Label Studio's JSON-MIN and CSV have a line for each annotation of a task.
            if first is not item:
                for question, answers in item.answers.items():
                    first.answers.setdefault(question, []).extend(answers)
        yield from rows_of(file, items.values(), options, notes)


def _task(at: int, body: Body, options: ReadOptions) -> Item:
    """Read a task of Label Studio: JSON, or JSON-MIN and CSV, where an answer is a column beside
    the texts.
    """
    answers: Answers = defaultdict(list)
    fields = body.get("data")
    if fields is None:
        questions = {options.columns.get(name) for name in ("label", "reason")} & body.keys()
        for name in questions:
            answers[str(name)].append(_studio_answer(body[str(name)], body, body.get("annotator")))
        apart = {*questions, *_TASK_COLUMNS}
        fields = {name: value for name, value in body.items() if name not in apart}
    for annotation in body.get("annotations") or ():
        results = () if annotation.get("was_cancelled") else annotation.get("result") or ()
        for result in results:
            value = first_of(result, *(f"value.{name}" for name in _VALUES))
            if value is not None:
                who = first_of(annotation, "completed_by.email", "completed_by.id", "completed_by")
                answer = _studio_answer(value, annotation, who)
                answers[str(result.get("from_name"))].append(answer)
    return Item(at=at, id=str(body.get("id", at)), fields=flat("", fields), answers=answers)


def _studio_answer(value: Any, annotation: Body, who: Any) -> PersonAnswer:  # Any: JSON
    if isinstance(value, str) and value[:2] == "[{":
        value = decoded(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):  # a rating of JSON-MIN
        value = first_of(value, *_VALUES) or value
    seconds = annotation.get("lead_time")
    return PersonAnswer(
        value=json.dumps(value) if isinstance(value, list | dict) else value,
        annotator="" if who is None else str(who),
        created=annotation.get("created_at"),
        seconds=None if seconds in (None, "") else float(seconds),
    )


def _trace(at: int, body: Body, options: ReadOptions) -> Item:
    """Read a trace of MLflow: `trace.to_json()`, or the column `trace` of what `search_traces()`
    returns.

    Inputs and outputs of the first span are the columns `inputs` and `outputs`, with what is inside
    under dotted names.
    """
    trace = decoded(body.get("trace"))
    body = trace if isinstance(trace, dict) else body
    answers: Answers = defaultdict(list)
    for one in first_of(body, "info.assessments") or ():
        # One that was replaced by a later one stays in the file, and is marked.
        if first_of(one, "source.source_type") != "HUMAN" or one.get("valid") is False:
            continue
        value = first_of(one, "feedback.value", "expectation.value")
        answer = PersonAnswer(
            value=value if isinstance(value, str | int | float | bool) else None,
            annotator=str(first_of(one, "source.source_id") or ""),
            created=one.get("create_time") or _moment(one.get("create_time_ms")),
            reason=one.get("rationale") or None,
        )
        answers[str(first_of(one, "assessment_name", "name"))].append(answer)
    spans = first_of(body, "data.spans") or [{}]
    roots = [span for span in spans if not first_of(span, "parent_span_id", "parent_id")]
    attributes = (roots or spans)[0].get("attributes") or {}
    inputs = decoded(attributes.get("mlflow.spanInputs"))
    outputs = decoded(attributes.get("mlflow.spanOutputs"))
    fields = flat("inputs", inputs or first_of(body, "data.request", "info.request_preview"))
    fields |= flat("outputs", outputs or first_of(body, "data.response", "info.response_preview"))
    fields |= flat("tags", first_of(body, "info.tags"))
    id = first_of(body, "info.trace_id", "info.request_id") or at
    return Item(at=at, id=str(id), fields=fields, answers=answers)


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _read_mlflow(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each trace that people assessed."""
    for file in table_files(path):
        items = (_trace(at, body, options) for at, body in read_bodies(file))
        yield from rows_of(file, [item for item in items if item.answers], options, notes)


def _read_langfuse(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each trace of Langfuse that people scored.

    Traces have their `scores`, as the API gives them, or a folder has traces and scores apart.

    Raises:
        InputError: Several scores were given, and none is named.
        DataError: A file is no such export, or has scores without their traces.
    """
    traces: dict[str, tuple[int, Body]] = {}
    by_trace: defaultdict[str, Answers] = defaultdict(lambda: defaultdict(list))
    for file in table_files(path):
        for at, body in read_bodies(file):
            scores = [one for one in body.get("scores") or () if isinstance(one, dict)]
            if "source" in body:
                scores = [body]
            elif not body.get("traceId"):
                traces[str(body.get("id"))] = at, body
            elif body.get("parentObservationId") is None:
                # The first observation has what the trace was asked.
                traces.setdefault(str(body["traceId"]), (at, body))
            for score in scores:
                if score.get("source") == "ANNOTATION":
                    # Since version 3 of the scores' API what was scored is an object of its own.
                    trace = first_of(score, "traceId", "subject.traceId", "subject.id")
                    answer = PersonAnswer(
                        value=first_of(score, "stringValue", "value"),
                        annotator=str(score.get("authorUserId") or ""),
                        created=score.get("timestamp"),
                        reason=score.get("comment") or None,
                    )
                    by_trace[str(trace or body.get("id"))][str(score.get("name"))].append(answer)
    if not traces:
        raise DataError(
            f"{path}: there are scores, and no traces with input and output",
            hint="put the exported traces and the scores into one folder, and give that",
        )
    items: list[Item] = []
    for trace, answers in by_trace.items():
        if trace not in traces:
            continue
        at, body = traces[trace]
        fields: dict[str, Any] = {}
        for name in ("input", "output", "metadata"):
            fields |= flat(name, body.get(name))
        items.append(Item(at=at, id=trace, fields=fields, answers=answers))
    if len(items) < len(by_trace):
        notes.append(f"{len(by_trace) - len(items):,} scored traces are not in the files")
    yield from rows_of(path, items, options, notes)


def _read_promptfoo(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row a result of `promptfoo eval -o`: the variables, `output`, a person's pass or fail
    as the label.

    What the assertions gave is the score: their mean, without a person's. Results of one test are a
    group.

    Raises:
        DataError: A file is no output of promptfoo.
    """
    for file in table_files(path):
        results = unlabelled = 0
        for at, body in read_bodies(file):
            if "vars" not in body:
                listed = ", ".join(map(shorten, body))
                missing = f"'vars' is missing; the columns are {listed}"
                message = f"{file}: no output of promptfoo: {missing}"
                raise DataError(message, hint="write one with promptfoo eval -o results.json")
            row = _promptfoo_row(at, body)
            results, unlabelled = results + 1, unlabelled + (row["label"] is None)
            yield row
        if not results:
            raise DataError(f"{file}: no results of promptfoo are in it")
        if unlabelled:
            notes.append(f"{unlabelled:,} of {results:,} results have no pass or fail of a person")


def _promptfoo_row(at: int, body: Body) -> Flat:
    people: list[int] = []
    scores: list[float] = []
    for part in first_of(body, "gradingResult.componentResults") or ():
        if first_of(part, "assertion.type") == "human":
            people.append(int(bool(part.get("pass"))))
        elif isinstance(part, dict) and part.get("score") is not None:
            scores.append(float(part["score"]))
    output = (body.get("response") or {}).get("output")
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    return {
        "id": str(body.get("id") or at),
        **flat("", body.get("vars") or {}),
        "output": output,
        "label": people[-1] if people else None,
        "score": as_number(fmean(scores)) if scores else None,
        "group_id": f"test {body.get('testIdx', at)}",
        "prompt": first_of(body, "prompt.label"),
        "provider": first_of(body, "provider.id"),
    }


def _source(name: str, about: str, read: Read) -> Source:
    return Source(name=name, about=about, read=read)


LABEL_STUDIO = _source(
    "label_studio",
    "Label Studio's export (JSON, JSON-MIN, CSV), with --map label=QUESTION",
    partial(_read_items, _task),
)
LANGFUSE = _source(
    "langfuse", "Langfuse's traces with people's scores, with --map label=SCORE", _read_langfuse
)
PROMPTFOO = _source(
    "promptfoo",
    "promptfoo's results (JSON or JSON Lines) with people's passes and fails",
    _read_promptfoo,
)
MLFLOW = _source(
    "mlflow", "MLflow's traces with people's assessments, with --map label=ASSESSMENT", _read_mlflow
)
