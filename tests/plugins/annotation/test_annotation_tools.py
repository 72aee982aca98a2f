"""Labels from annotation tools come with who gave them, when, how long it took, and why."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgewright.judges import BINARY, DataError, InputError, load_dataset
from judgewright.judges.datasets import Flat, ReadOptions, open_source
from judgewright.runs.actions.make_data import data_sources

TOOLS: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "exports.yaml").read_text()
)
NO_TRACES = [{"info": {"trace_id": "t"}, "data": {"spans": []}}]


def export(tool: str) -> Any:
    """A copy of a tool's export, to change."""
    return deepcopy(TOOLS[tool]["export"])


def read(tool: str, path: Path, **columns: str) -> tuple[list[Flat], list[str]]:
    """The rows of a file or folder with their notes."""
    options = ReadOptions(columns=columns or TOOLS[tool]["map"])
    opened = open_source(tool, path, options, sources=data_sources())
    return list(opened.rows), opened.notes


def write(folder: Path, body: Any, name: str = "export.json") -> Path:
    """A file with an export."""
    (folder / name).write_text(body if isinstance(body, str) else json.dumps(body))
    return folder / name


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_yields_rows_that_a_judge_can_be_measured_on(tool: str, tmp_path: Path) -> None:
    """Written as JSON they load, with the labels of people; one line says what to heed."""
    rows, _ = read(tool, write(tmp_path, export(tool)))
    path = write(tmp_path, rows, "rows.json")
    dataset = load_dataset(path, inputs=("query", "passage"), scale=BINARY)
    assert [row.label for row in dataset.rows] == [1, 0]
    assert all(text for row in dataset.rows for text in row.inputs.values())
    source = data_sources()[tool]
    assert "\n" not in source.about
    with pytest.raises(DataError, match="there is no such file or folder"):
        read(tool, tmp_path / "nowhere")


LABEL_STUDIO = {"context.page": 1, "label_annotator": "ann@example.org", "label_seconds": 4.3} | {
    "label_reason": "x",
    "label_created": "2026-03-09T22:16:08.728353Z",
}
REASONED = {"label_reason": "as the passage says"}


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("label_studio", LABEL_STUDIO),
        (
            "langfuse",
            REASONED | {"label_annotator": "user-7", "label_created": "2026-05-01T10:00:00.000Z"},
        ),
        ("mlflow", REASONED | {"label_annotator": "ann", "query": "Who built it?"}),
        ("promptfoo", {"depth.k": 3, "output": "-", "score": 1, "group_id": "test 0"}),
    ],
)
def test_who_labelled_when_and_why_comes_along(
    tool: str, more: dict[str, object], tmp_path: Path
) -> None:
    """Cancelled, replaced, drafted and suggested answers and those of models count for nothing."""
    rows, notes = read(tool, write(tmp_path, export(tool)))
    assert {name: rows[0][name] for name in more} == more
    assert notes == []


STARS = '"annotator","id","stars","statement"\n1,1,"[{""rating"":5}]","a"\n1,4,"[{""rating"":2}]",b'


def test_label_studio_has_a_line_for_each_annotation_of_a_task(tmp_path: Path) -> None:
    """As Label Studio 1.23 exports JSON-MIN and CSV: the id of a task stands twice, a rating is an
    object in a list.
    """
    five, two = [{"rating": 5}], [{"rating": 2}]
    tasks = [
        {"id": 1, "ok": "Yes", "stars": five, "annotator": 1, "statement": "a", "lead_time": 2.5},
        {"id": 4, "ok": "No", "stars": two, "annotator": 1, "statement": "b"},
        {"id": 4, "ok": "Yes", "stars": two, "annotator": 2, "statement": "b"},
    ]
    path = write(tmp_path, tasks)
    rows, _ = read("label_studio", path, label="ok", query="statement")
    assert [(row["id"], row["label"], row["label_annotator"]) for row in rows] == [
        ("1", 1, "1"),
        ("4", None, "1, 2"),
    ]
    assert (rows[0]["query"], rows[0]["label_seconds"]) == ("a", 2.5)
    assert (rows[1]["annotation_1"], rows[1]["annotation_2"]) == (0, 1)
    for file in (path, write(tmp_path, STARS, "export.csv")):
        assert [row["label"] for row in read("label_studio", file, label="stars")[0]] == [5, 2]


def test_traces_and_scores_of_langfuse_may_lie_in_two_files(tmp_path: Path) -> None:
    """Of a folder; scores alone are refused."""
    rows, _ = read("langfuse", write(tmp_path, export("langfuse")))
    apart = tmp_path / "apart"
    apart.mkdir()
    traces = export("langfuse")["data"]
    scores = [score for trace in traces for score in trace.pop("scores")]
    write(apart, "".join(f"{json.dumps(score)}\n" for score in scores), "scores.jsonl")
    path = write(apart, traces, "traces.json")
    assert read("langfuse", apart)[0] == rows
    path.unlink()
    with pytest.raises(DataError, match="no traces with input and output"):
        read("langfuse", apart)


def test_langfuse_version_5_has_observations_and_scores_with_a_subject(tmp_path: Path) -> None:
    """A trace is its first observation; a score names a trace, or an observation of one."""
    person = {"name": "supported", "authorUserId": "ann", "source": "ANNOTATION"}
    of_observation = {"kind": "observation", "id": "o1", "traceId": "t1"}
    scores = [
        person | {"value": True, "subject": {"kind": "trace", "id": "t0"}},
        person | {"value": False, "subject": of_observation},
        person | {"source": "EVAL", "value": True, "subject": {"kind": "trace", "id": "t1"}},
    ]
    observations = [
        {"id": "o0", "traceId": "t0", "input": {"q": "first?"}, "parentObservationId": None},
        {"id": "i0", "traceId": "t0", "input": {"q": "inner"}, "parentObservationId": "o0"},
        {"id": "i1", "traceId": "t1", "input": {"q": "inner"}, "parentObservationId": "o1"},
        {"id": "o1", "traceId": "t1", "input": {"q": "second?"}},
    ]
    write(tmp_path, {"data": observations}, "observations.json")
    write(tmp_path, {"data": scores}, "scores.json")
    rows, _ = read("langfuse", tmp_path, query="input.q")
    assert [(row["id"], row["query"], row["label"]) for row in rows] == [
        ("t0", "first?", 1),
        ("t1", "second?", 0),
    ]


def test_mlflow_reads_the_table_of_search_traces_and_plain_outputs(tmp_path: Path) -> None:
    """MLflow 3.17: the column `trace` is the whole trace as text; what a span said is JSON, a plain
    text too.
    """
    trace, _ = export("mlflow")
    span = {"mlflow.spanInputs": '{"text": "hello"}', "mlflow.spanOutputs": '"HELLO"'}
    trace["data"]["spans"] = [{"parent_span_id": None, "attributes": span}]
    table = [{"trace_id": "tr-1", "trace": json.dumps(trace), "spans": []}]
    (row,), _ = read("mlflow", write(tmp_path, table), label="relevance")
    assert (row["id"], row["inputs.text"], row["outputs"], row["label"]) == (
        *("tr-1", "hello", "HELLO"),
        1,
    )


def test_results_of_promptfoo_that_no_person_looked_at_have_no_label(tmp_path: Path) -> None:
    """Also in the layout of older versions; another file is refused."""
    results = export("promptfoo")["results"]["results"]
    del results[1]["gradingResult"]["componentResults"][1]
    rows, notes = read("promptfoo", write(tmp_path, {"results": results, "stats": {}}))
    assert [row["label"] for row in rows] == [1, None]
    assert notes == ["1 of 2 results have no pass or fail of a person"]
    with pytest.raises(DataError, match="no output of promptfoo"):
        read("promptfoo", write(tmp_path, [{"a": 1}]))


@pytest.mark.parametrize(
    ("tool", "body", "columns", "message", "hint"),
    [
        (
            *("label_studio", None, {"label": "suported"}),
            "nobody was asked 'suported'; the questions are 'supported', 'why'",
            "did you mean --map label=supported?",
        ),
        (
            *("label_studio", None, {"query": "question"}),
            "which question is the label",
            "--map label=supported",
        ),
        (
            *("label_studio", None, {"query": "quest", "label": "supported"}),
            "the column 'quest' is missing",
            "did you mean --map query=question?",
        ),
        ("mlflow", NO_TRACES, {}, "no answer of a person", "export the annotations too"),
    ],
)
def test_a_question_that_is_not_there_or_not_named_is_refused(
    tool: str, body: Any, columns: dict[str, str], message: str, hint: str, tmp_path: Path
) -> None:
    """The message lists the questions."""
    with pytest.raises((DataError, InputError), match=message) as caught:
        read(tool, write(tmp_path, body or export(tool)), **columns)
    assert caught.value.hint == hint


def test_an_answer_that_is_no_grade_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A word needs its meaning."""
    tasks = export("label_studio")
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["Maybe"]
    with pytest.raises(DataError, match="'Maybe' is neither a number nor one of") as caught:
        read("label_studio", write(tmp_path, tasks))
    assert "--label-map" in (caught.value.hint or "")


@pytest.mark.parametrize("tool", ["label_studio", "promptfoo"])
def test_an_export_read_as_rows_names_its_importer(tool: str, tmp_path: Path) -> None:
    """Its texts and labels are deep inside."""
    with pytest.raises(DataError) as caught:
        load_dataset(write(tmp_path, export(tool)), inputs=("query",), scale=BINARY)
    assert f"judgewright data import {tool}" in (caught.value.hint or "")
