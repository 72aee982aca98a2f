"""Tools whose exports hold people's labels: Label Studio, Argilla, Langfuse, MLflow and
promptfoo.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import DataError
from ..files.problems import shorten
from .annotated import Body, Item, PersonAnswer, flat, read_bodies, rows_of
from .release import as_number, table_files
from .source import Flat, ReadOptions, Source

_VALUES = ("choices", "rating", "number", "text", "taxonomy")
"""Where a result of Label Studio keeps what was answered, by its type."""
_TASK_COLUMNS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""Columns of Label Studio's JSON-MIN and CSV that are neither texts nor answers."""


def read_label_studio(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each task of Label Studio's export as JSON, JSON-MIN or CSV; cancelled
    annotations are left out.

    Raises:
        InputError: Several questions were asked, and none is named.
        DataError: A file is none of these, or an answer is no grade.
    """
    for file in table_files(path):
        tasks: dict[str, Item] = {}
        for at, body in read_bodies(file):
            task = _task(at, body, options)
            first = tasks.setdefault(task.id, task)
            # JSON-MIN and CSV have a line for each annotation of a task.
            if first is not task:
                for question, answers in task.answers.items():
                    first.answers.setdefault(question, []).extend(answers)
        yield from rows_of(file, tasks.values(), options, notes)


def _task(at: int, body: Body, options: ReadOptions) -> Item:
    answers: defaultdict[str, list[PersonAnswer]] = defaultdict(list)
    if "data" not in body:  # JSON-MIN and CSV: an answer is a column beside the texts
        asked = {options.columns.get(name) for name in ("label", "reason")} & body.keys()
        for name in asked:
            if name is not None:
                answers[name].append(_studio_answer(body[name], body, body.get("annotator")))
        fields = {
            name: value for name, value in body.items() if name not in (*asked, *_TASK_COLUMNS)
        }
        return Item(at=at, id=str(body.get("id", at)), fields=flat("", fields), answers=answers)
    for annotation in body.get("annotations") or ():
        if annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or ():
            value = result.get("value") or {}
            given = next((value[name] for name in _VALUES if name in value), None)
            if given is not None:
                answer = _studio_answer(given, annotation, annotation.get("completed_by"))
                answers[str(result.get("from_name"))].append(answer)
    return Item(at=at, id=str(body.get("id", at)), fields=flat("", body["data"]), answers=answers)


def _studio_answer(value: Any, annotation: Body, who: Any) -> PersonAnswer:  # Any: JSON
    if isinstance(value, str) and value[:2] == "[{":
        value = _decoded(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):  # a rating of JSON-MIN
        value = next((value[name] for name in _VALUES if name in value), value)
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    seconds = annotation.get("lead_time")
    return PersonAnswer(
        value=json.dumps(value) if isinstance(value, list | dict) else value,
        annotator="" if who is None else str(who),
        created=annotation.get("created_at"),
        seconds=None if seconds in (None, "") else float(seconds),
    )


def read_argilla(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each record of Argilla's export: `records.to_json`, a list, or a flattened
    table (Parquet).

    Submitted responses count, and those of which nobody knows; suggestions, which models make, do
    not.

    Raises:
        InputError: Several questions were asked, and none is named.
        DataError: A file is no such export, or an answer is no grade.
    """
    for file in table_files(path):
        bodies = list(read_bodies(file))
        items = [_record(at, body) for at, body in bodies]
        if any(_lacks_status(body) for _, body in bodies):
            notes.append(
                "the file does not say which answers are drafts; records.to_list(flatten=True) does"
            )
        yield from rows_of(file, items, options, notes)


def _record(at: int, body: Body) -> Item:
    answers: defaultdict[str, list[PersonAnswer]] = defaultdict(list)
    if isinstance(body.get("fields"), dict):
        for question, responses in (body.get("responses") or {}).items():
            for one in responses:
                if one.get("status") in (None, "submitted"):
                    who = str(one.get("user_id", ""))
                    answers[question].append(PersonAnswer(value=one.get("value"), annotator=who))
        fields = flat("", {**body["fields"], **(body.get("metadata") or {})})
        return Item(at=at, id=str(body.get("id", at)), fields=fields, answers=answers)
    for name in [name for name in body if name.endswith(".responses")]:
        values, users, states = (
            _list(body.get(f"{name}{suffix}")) for suffix in ("", ".users", ".status")
        )
        for position, value in enumerate(values):
            if position < len(states) and states[position] not in (None, "submitted"):
                continue
            who = str(users[position]) if position < len(users) else ""
            answers[name.removesuffix(".responses")].append(
                PersonAnswer(value=value, annotator=who)
            )
    own = {
        name: value
        for name, value in body.items()
        if ".responses" not in name and ".suggestion" not in name
    }
    apart = ("id", "_server_id", "status")
    fields = flat("", {name: value for name, value in own.items() if name not in apart})
    return Item(at=at, id=str(body.get("id", at)), fields=fields, answers=answers)


def _lacks_status(body: Body) -> bool:
    responses = body.get("responses")
    if not isinstance(responses, dict):
        return False
    return any("status" not in one for given in responses.values() for one in given)


def _list(value: Any) -> list[Any]:  # Any: JSON; in a table a list stands as text
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise DataError(
                f"{shorten(value)} is no list, as a CSV cannot keep one",
                hint="write the records as JSON or Parquet",
            ) from None
    return list(value or ())


def read_langfuse(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each trace of Langfuse that people scored.

    Traces have their `scores`, as the API gives them, or a folder has traces and scores apart.

    Raises:
        InputError: Several scores were given, and none is named.
        DataError: A file is no such export, or has scores without their traces.
    """
    traces: dict[str, tuple[int, Body]] = {}
    answers: defaultdict[str, defaultdict[str, list[PersonAnswer]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for file in table_files(path):
        for at, body in read_bodies(file, inside="data"):
            scores = [one for one in body.get("scores") or () if isinstance(one, dict)]
            if "source" in body:
                scores = [body]
            elif not body.get("traceId"):
                traces[str(body.get("id"))] = at, body
            elif (
                body.get("parentObservationId") is None
            ):  # the first observation has what the trace was asked
                traces.setdefault(str(body["traceId"]), (at, body))
            for score in scores:
                if score.get("source") == "ANNOTATION":
                    # Since version 3 of the scores' API what was scored stands in an object of its
                    # own.
                    subject = score.get("subject") or {}
                    named = (
                        score.get("traceId")
                        or subject.get("traceId")
                        or subject.get("id")
                        or body.get("id")
                    )
                    answers[str(named)][str(score.get("name"))].append(_score_answer(score))
    if not traces:
        raise DataError(
            f"{path}: there are scores, and no traces with input and output",
            hint="put the exported traces and the scores into one folder, and give that",
        )
    items: list[Item] = []
    for trace, given in answers.items():
        if trace in traces:
            at, body = traces[trace]
            fields = flat("input", body.get("input")) | flat("output", body.get("output"))
            fields |= flat("metadata", body.get("metadata"))
            items.append(Item(at=at, id=trace, fields=fields, answers=given))
    if len(items) < len(answers):
        notes.append(f"{len(answers) - len(items):,} scored traces are not in the files")
    yield from rows_of(path, items, options, notes)


def _score_answer(score: Body) -> PersonAnswer:
    words = score.get("stringValue")
    return PersonAnswer(
        value=score.get("value") if words in (None, "") else words,
        annotator=str(score.get("authorUserId") or ""),
        created=score.get("timestamp"),
        reason=score.get("comment") or None,
    )


def read_mlflow(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each trace of MLflow that people assessed: `trace.to_json()`, one a line or
    in a list.

    It may also stand in a column `trace`, as in the table that `search_traces()` returns.

    Inputs and outputs of the first span are the columns `inputs` and `outputs`, with what is inside
    under dotted names.

    Raises:
        InputError: Several assessments were given, and none is named.
        DataError: A file is no such export, or an assessment is no grade.
    """
    for file in table_files(path):
        items = (_trace(at, body) for at, body in read_bodies(file, inside="traces"))
        yield from rows_of(file, [item for item in items if item.answers], options, notes)


def _trace(at: int, body: Body) -> Item:
    whole = _decoded(body.get("trace"))
    body = whole if isinstance(whole, dict) else body
    info, data = body.get("info") or {}, body.get("data") or {}
    answers: defaultdict[str, list[PersonAnswer]] = defaultdict(list)
    for one in info.get("assessments") or ():
        source = one.get("source") or {}
        # One that was replaced by a later one is kept, and marked.
        if source.get("source_type") != "HUMAN" or one.get("valid") is False:
            continue
        value = (one.get("feedback") or one.get("expectation") or {}).get("value")
        answer = PersonAnswer(
            value=value if isinstance(value, str | int | float | bool) else None,
            annotator=str(source.get("source_id") or ""),
            created=one.get("create_time") or _moment(one.get("create_time_ms")),
            reason=one.get("rationale") or None,
        )
        answers[str(one.get("assessment_name") or one.get("name"))].append(answer)
    spans = data.get("spans") or [{}]
    first = next(
        (span for span in spans if not (span.get("parent_span_id") or span.get("parent_id"))),
        spans[0],
    )
    attributes = first.get("attributes") or {}
    asked = (
        _decoded(attributes.get("mlflow.spanInputs"))
        or data.get("request")
        or info.get("request_preview")
    )
    said = (
        _decoded(attributes.get("mlflow.spanOutputs"))
        or data.get("response")
        or info.get("response_preview")
    )
    fields = flat("inputs", asked) | flat("outputs", said) | flat("tags", info.get("tags"))
    trace = info.get("trace_id") or info.get("request_id") or at
    return Item(at=at, id=str(trace), fields=fields, answers=answers)


def _decoded(value: Any) -> Any:  # Any: JSON, or JSON in a text
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _tool(name: str, about: str, read: Any) -> Source:  # Any: a `Read`
    return Source(
        name=name,
        about=about,
        inputs=(),
        judge="the one whose inputs you map",
        licence="yours",
        read=read,
    )


def read_promptfoo(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row a result of `promptfoo eval -o`: the variables, `output`, a person's pass or fail
    as the label.

    What the assertions gave is the score: their mean, without a person's. Results of one test are a
    group.

    Raises:
        DataError: A file is no output of promptfoo.
    """
    for file in table_files(path):
        found = unlabelled = 0
        for at, body in read_bodies(file, inside="results"):
            if "vars" not in body:
                listed = ", ".join(map(shorten, body))
                missing = f"'vars' is missing; the columns are {listed}"
                message = f"{file}: no output of promptfoo: {missing}"
                raise DataError(message, hint="write one with promptfoo eval -o results.json")
            row = _promptfoo_row(at, body)
            found, unlabelled = found + 1, unlabelled + (row["label"] is None)
            yield row
        if not found:
            raise DataError(f"{file}: no results of promptfoo are in it")
        if unlabelled:
            notes.append(f"{unlabelled:,} of {found:,} results have no pass or fail of a person")


def _promptfoo_row(at: int, body: Body) -> Flat:
    grading = body.get("gradingResult") or {}
    parts: list[Body] = [
        part for part in grading.get("componentResults") or () if isinstance(part, dict)
    ]
    by_people = [part for part in parts if (part.get("assertion") or {}).get("type") == "human"]
    scores = [
        float(part["score"])
        for part in parts
        if part not in by_people and part.get("score") is not None
    ]
    output = (body.get("response") or {}).get("output")
    row: Flat = {"id": str(body.get("id") or at), **flat("", body.get("vars") or {})}
    row |= {
        "output": (
            output
            if isinstance(output, str) or output is None
            else json.dumps(output, ensure_ascii=False)
        )
    }
    row |= {"label": int(bool(by_people[-1].get("pass"))) if by_people else None}
    row |= {
        "score": as_number(fmean(scores)) if scores else None,
        "group_id": f"test {body.get('testIdx', at)}",
    }
    row |= {
        "prompt": (body.get("prompt") or {}).get("label"),
        "provider": (body.get("provider") or {}).get("id"),
    }
    return row


ANNOTATION_TOOLS = (
    _tool(
        "label_studio",
        "Label Studio's export (JSON, JSON-MIN, CSV), with --map label=QUESTION",
        read_label_studio,
    ),
    _tool(
        "argilla",
        "Argilla's records (JSON, or flattened as Parquet), with --map label=QUESTION",
        read_argilla,
    ),
    _tool(
        "langfuse", "Langfuse's traces with people's scores, with --map label=SCORE", read_langfuse
    ),
    _tool(
        "promptfoo",
        "promptfoo's results (JSON or JSON Lines) with people's passes and fails",
        read_promptfoo,
    ),
    _tool(
        "mlflow",
        "MLflow's traces with people's assessments, with --map label=ASSESSMENT",
        read_mlflow,
    ),
)
