"""Labels from annotation tools come with who gave them, when, how long it took, and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import DataError, InputError
from judgewright.judges.datasets import Flat, ReadOptions, open_source

from . import annotation_exports as exports


def read(
    name: str, path: Path, body: Any, columns: dict[str, str] | None = None
) -> tuple[list[Flat], list[str]]:
    """The rows of an export with its notes."""
    file = path / "export.json"
    file.write_text(json.dumps(body))
    opened = open_source(
        name, file, ReadOptions(columns=exports.MAPPINGS[name] if columns is None else columns)
    )
    return list(opened.rows), opened.notes


def test_label_studio_keeps_annotator_time_seconds_and_reason(tmp_path: Path) -> None:
    """Cancelled annotations count for nothing; a text area is the reason where it is mapped."""
    rows, notes = read("label_studio", tmp_path, exports.label_studio())
    assert rows[0] == {
        "id": "1",
        "query": "Who built it?",
        "passage": "The guild built it.",
        "context.page": 1,
        "label": 1,
        "label_annotator": "ann@example.org",
        "label_created": "2026-03-09T22:16:08.728353Z",
        "label_seconds": 4.3,
        "label_reason": "x",
    }
    assert notes == []


def test_label_studio_without_nesting_and_as_csv(tmp_path: Path) -> None:
    """JSON-MIN has one object an annotation, CSV the same as a table."""
    flat = [
        {"id": 7, "question": "q?", "answer": "an a", "ok": "Yes", "annotator": 3, "lead_time": 2.5}
    ]
    columns = {"query": "question", "label": "ok"}
    rows, _ = read("label_studio", tmp_path, flat, columns)
    assert (rows[0]["label"], rows[0]["label_annotator"], rows[0]["label_seconds"]) == (1, "3", 2.5)
    assert (rows[0]["query"], rows[0]["answer"]) == ("q?", "an a")
    table = tmp_path / "export.csv"
    table.write_text("id,question,answer,ok,annotator,lead_time\n7,q?,an a,Yes,3,2.5\n")
    again = next(open_source("label_studio", table, ReadOptions(columns=columns)).rows)
    assert again == rows[0]


def test_label_studio_has_a_line_for_each_annotation_of_a_task(tmp_path: Path) -> None:
    """As Label Studio 1.23 exports JSON-MIN and CSV: the id of a task stands twice, a rating is an
    object in a list.
    """
    tasks = [
        {
            "statement": "a",
            "id": 1,
            "ok": "Yes",
            "stars": [{"rating": 5}],
            "annotator": 1,
            "annotation_id": 1,
        },
        {
            "statement": "b",
            "id": 4,
            "ok": "No",
            "stars": [{"rating": 2}],
            "annotator": 1,
            "annotation_id": 5,
        },
        {
            "statement": "b",
            "id": 4,
            "ok": "Yes",
            "stars": [{"rating": 2}],
            "annotator": 2,
            "annotation_id": 4,
        },
    ]
    rows, _ = read("label_studio", tmp_path, tasks, {"label": "ok"})
    assert [(row["id"], row["label"], row["label_annotator"]) for row in rows] == [
        ("1", 1, "1"),
        ("4", None, "1, 2"),
    ]
    assert (rows[1]["annotation_1"], rows[1]["annotation_2"]) == (0, 1)
    assert [
        row["label"] for row in read("label_studio", tmp_path, tasks, {"label": "stars"})[0]
    ] == [5, 2]
    table = tmp_path / "export.csv"
    table.write_text(
        '"annotator","id","stars","statement"\n"1",1,"[{""rating"":5}]","a"\n"1",4,"[{""rating"":2}]","b"\n'
    )
    again = open_source("label_studio", table, ReadOptions(columns={"label": "stars"})).rows
    assert [row["label"] for row in again] == [5, 2]


def test_argilla_has_a_label_only_where_its_annotators_agree(tmp_path: Path) -> None:
    """Each one's answer stands beside it; drafts and suggestions do not count."""
    records = exports.argilla()
    records[1]["responses"]["relevant"][1]["value"] = "yes"
    rows, notes = read("argilla", tmp_path, records)
    assert [row["label"] for row in rows] == [1, None]
    assert [(row["annotation_1"], row["annotation_2"]) for row in rows] == [(1, 1), (0, 1)]
    assert rows[0]["label_annotator"] == "u1, u2"
    assert rows[1]["label_reason"] == "the annotators disagree"
    assert rows[0]["source"] == "web"
    assert any("1 items have no label, as their annotators disagree" in note for note in notes)


def test_argilla_flattened_reads_the_same(tmp_path: Path) -> None:
    """As `to_list(flatten=True)` and a data set on the hub have it."""
    flat = [
        {
            "id": f"record-{number}",
            "status": "completed",
            "_server_id": "x",
            "question": question,
            "passage": passage,
            "source": "web",
            "relevant.responses": [value, value, "yes"],
            "relevant.responses.users": ["u1", "u2", "u3"],
            "relevant.responses.status": ["submitted", "submitted", "draft"],
            "relevant.suggestion": "yes",
            "relevant.suggestion.score": 0.9,
        }
        for number, ((question, passage), value) in enumerate(
            zip(exports.TEXTS, ("yes", "no"), strict=True), 1
        )
    ]
    assert read("argilla", tmp_path, flat)[0] == read("argilla", tmp_path, exports.argilla())[0]


def test_argilla_does_not_say_in_nested_records_which_answers_are_drafts(tmp_path: Path) -> None:
    """`records.to_json` of Argilla 2.8 leaves the status out; a CSV of the flattened table holds no
    list at all.
    """
    records = exports.argilla()
    for record in records:
        for given in record["responses"].values():
            for one in given:
                one.pop("status", None)
    _, notes = read("argilla", tmp_path, records)
    assert (
        "the file does not say which answers are drafts; records.to_list(flatten=True) does"
        in notes
    )
    table = tmp_path / "export.csv"
    table.write_text(
        "id,statement,ok.responses,ok.responses.users\nr1,a,['yes' 'no'],['u1' 'u2']\n"
    )
    with pytest.raises(DataError, match="is no list, as a CSV cannot keep one"):
        list(open_source("argilla", table, ReadOptions(columns={"label": "ok"})).rows)


def test_langfuse_counts_the_scores_of_people_alone(tmp_path: Path) -> None:
    """With the comment as the reason; traces and scores may lie in two files of a folder."""
    rows, _ = read("langfuse", tmp_path, exports.langfuse())
    assert [row["label"] for row in rows] == [1, 0]
    assert (rows[0]["label_annotator"], rows[0]["label_reason"]) == (
        "user-7",
        "as the passage says",
    )
    assert rows[0]["label_created"] == "2026-05-01T10:00:00.000Z"
    apart = tmp_path / "apart"
    apart.mkdir()
    traces = exports.langfuse()["data"]
    scores = [score for trace in traces for score in trace.pop("scores")]
    (apart / "traces.json").write_text(json.dumps(traces))
    (apart / "scores.jsonl").write_text("".join(f"{json.dumps(score)}\n" for score in scores))
    options = ReadOptions(columns=exports.MAPPINGS["langfuse"])
    assert list(open_source("langfuse", apart, options).rows) == rows
    (apart / "traces.json").unlink()
    with pytest.raises(DataError, match="no traces with input and output"):
        list(open_source("langfuse", apart, options).rows)


def test_langfuse_version_5_has_observations_and_scores_with_a_subject(tmp_path: Path) -> None:
    """A trace is its first observation; a score names a trace, or an observation of one."""
    common = {"name": "supported", "dataType": "BOOLEAN", "authorUserId": "ann"}
    scores = [
        common | {"source": "ANNOTATION", "value": True, "subject": {"kind": "trace", "id": "t0"}},
        common
        | {
            "source": "ANNOTATION",
            "value": False,
            "subject": {"kind": "observation", "id": "o1", "traceId": "t1"},
        },
        common | {"source": "EVAL", "value": True, "subject": {"kind": "trace", "id": "t1"}},
    ]
    observations = [
        {
            "id": "o0",
            "traceId": "t0",
            "type": "SPAN",
            "input": {"q": "first?"},
            "parentObservationId": None,
        },
        {
            "id": "i0",
            "traceId": "t0",
            "type": "SPAN",
            "input": {"q": "inner"},
            "parentObservationId": "o0",
        },
        {
            "id": "i1",
            "traceId": "t1",
            "type": "SPAN",
            "input": {"q": "inner"},
            "parentObservationId": "o1",
        },
        {"id": "o1", "traceId": "t1", "type": "SPAN", "input": {"q": "second?"}},
    ]
    (tmp_path / "observations.json").write_text(json.dumps({"data": observations, "meta": {}}))
    (tmp_path / "scores.json").write_text(json.dumps({"data": scores, "meta": {}}))
    rows = list(open_source("langfuse", tmp_path, ReadOptions(columns={"query": "input.q"})).rows)
    assert [(row["id"], row["query"], row["label"]) for row in rows] == [
        ("t0", "first?", 1),
        ("t1", "second?", 0),
    ]


def test_mlflow_reads_the_table_of_search_traces_and_plain_outputs(tmp_path: Path) -> None:
    """MLflow 3.17: the column `trace` is the whole trace as text; what a span said is JSON, a plain
    text too.
    """
    source = {"source_type": "HUMAN", "source_id": "ann"}
    assessment = {
        "assessment_name": "ok",
        "source": source,
        "feedback": {"value": True},
        "valid": True,
    }
    attributes = {
        "mlflow.spanInputs": '{"text": "hello there"}',
        "mlflow.spanOutputs": '"HELLO THERE"',
    }
    spans = [{"name": "plain", "parent_span_id": None, "attributes": attributes}]
    trace = {"info": {"trace_id": "tr-1", "assessments": [assessment]}, "data": {"spans": spans}}
    rows, _ = read(
        "mlflow", tmp_path, [{"trace_id": "tr-1", "trace": json.dumps(trace), "spans": []}], {}
    )
    assert (rows[0]["id"], rows[0]["inputs.text"], rows[0]["outputs"], rows[0]["label"]) == (
        "tr-1",
        "hello there",
        "HELLO THERE",
        1,
    )


def test_mlflow_counts_what_people_assessed_and_nobody_replaced(tmp_path: Path) -> None:
    """With the rationale as the reason; the texts come from the first span."""
    rows, _ = read("mlflow", tmp_path, exports.mlflow())
    assert [row["label"] for row in rows] == [1, 0]
    assert rows[0]["query"] == "Who built it?"
    assert (rows[0]["label_annotator"], rows[0]["label_reason"]) == (
        "ann@example.org",
        "as the passage says",
    )


def test_a_question_that_is_not_there_or_not_named_is_refused(tmp_path: Path) -> None:
    """The message lists the questions."""
    with pytest.raises(
        DataError, match="nobody was asked 'suported'; the questions are 'supported', 'why'"
    ) as caught:
        read("label_studio", tmp_path, exports.label_studio(), {"label": "suported"})
    assert caught.value.hint == "did you mean --map label=supported?"
    with pytest.raises(InputError, match="which question is the label"):
        read("label_studio", tmp_path, exports.label_studio(), {"query": "question"})
    with pytest.raises(DataError, match="the column 'quest' is missing"):
        read(
            "label_studio",
            tmp_path,
            exports.label_studio(),
            {"query": "quest", "label": "supported"},
        )
    with pytest.raises(DataError, match="no answer of a person"):
        read("mlflow", tmp_path, [{"info": {"trace_id": "t"}, "data": {"spans": []}}])


def test_an_answer_that_is_no_grade_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A word needs its meaning."""
    tasks = exports.label_studio()
    tasks[1]["annotations"][1]["result"][0]["value"]["choices"] = ["Maybe"]
    with pytest.raises(DataError, match="'Maybe' is neither a number nor one of") as caught:
        read("label_studio", tmp_path, tasks)
    assert "--label-map" in (caught.value.hint or "")
