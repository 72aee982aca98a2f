"""RAGTruth: spans become labels of responses and of sentences."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DataError
from judgewright.judges.datasets import Flat, ReadOptions, open_source, sentence_bounds


def read(path: Path, level: str = "response") -> list[Flat]:
    """Read a release at a level."""
    return list(open_source("ragtruth", path, ReadOptions(level=level)).rows)


def test_a_response_with_a_span_is_unsupported_and_says_why(releases: dict[str, Path]) -> None:
    """Label, kinds and texts of the spans, source, task and group come through."""
    clean, spanned, _ = read(releases["ragtruth"])
    assert (clean["label"], clean["n_spans"], clean["error_type"]) == (1, 0, None)
    assert (spanned["label"], spanned["n_spans"]) == (0, 2)
    assert spanned["error_type"] == "Evident Conflict|Subtle Baseless Info"
    assert spanned["hallucinated_text"] == "Ada Kolm | 1911"
    assert spanned["implicit_true_only"] is False
    assert (spanned["query"], spanned["task_type"], spanned["domain"]) == (
        "who built the brill bridge",
        "QA",
        "MARCO",
    )
    assert (spanned["model"], spanned["temperature"], spanned["orig_split"]) == (
        "n-13b",
        0.7,
        "test",
    )
    assert clean["group_id"] == spanned["group_id"] == "ragtruth_s1"


def test_a_sentence_is_unsupported_where_a_span_overlaps_it(releases: dict[str, Path]) -> None:
    """The spans lie in the first and second sentence; the abbreviation does not cut the third."""
    rows = [row for row in read(releases["ragtruth"], "sentence") if row["response_id"] == "2"]
    assert [row["statement"] for row in rows] == [
        "The Brill bridge opened in 1911.",
        "It was built by Ada Kolm.",
        "Mr. Hale paid for it.",
    ]
    assert [row["label"] for row in rows] == [0, 0, 1]
    assert [row["implicit_true_only"] for row in rows] == [True, False, False]
    assert [row["sentence_index"] for row in rows] == [0, 1, 2]


def test_a_record_of_fields_is_shown_as_json_with_its_nesting(releases: dict[str, Path]) -> None:
    """Names, nested values, nulls and letters beyond ASCII stay readable."""
    row = read(releases["ragtruth"])[2]
    assert json.loads(str(row["source"])) == {
        "name": "Café Nord",
        "hours": {"Monday": "9:0-17:0"},
        "attributes": {"WiFi": None},
    }
    assert "Café" in str(row["source"])
    assert row["query"] is None


def test_quality_issues_are_kept_and_counted(releases: dict[str, Path]) -> None:
    """The truncated response is a row, and a note says so."""
    opened = open_source("ragtruth", releases["ragtruth"])
    assert [row["quality"] for row in opened.rows] == ["good", "good", "truncated"]
    assert any("quality issue" in note and note.endswith("1") for note in opened.notes)


def test_the_repository_and_the_response_file_work_as_paths(releases: dict[str, Path]) -> None:
    """A checkout holds the files in `dataset`."""
    inside = releases["ragtruth"].parent / "checkout" / "dataset"
    inside.parent.mkdir()
    releases["ragtruth"].rename(inside)
    assert len(read(inside.parent)) == len(read(inside / "response.jsonl")) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [{"start": 5, "end": 999, "text": "x"}]}, "no span of the"),
        ({"labels": ["x"]}, "field 'labels'"),
        ({"source_id": "s9"}, "'s9' is not in source_info.jsonl"),
        ({"response": None}, "field 'response': "),
        ({"response": 7}, "field 'response': "),
    ],
)
def test_a_broken_row_is_named_with_file_line_and_field(
    releases: dict[str, Path], change: dict[str, object], message: str
) -> None:
    """The second line of response.jsonl is at fault."""
    path = releases["ragtruth"] / "response.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"response\.jsonl, line 2: .*" + message):
        read(releases["ragtruth"])


def test_a_folder_without_both_files_is_refused(tmp_path: Path) -> None:
    """The message names what is looked for."""
    with pytest.raises(DataError, match=r"response\.jsonl and source_info\.jsonl"):
        read(tmp_path)


@given(text=st.text(alphabet="ab. \n!?é“”1)", max_size=80))
@settings(max_examples=200, deadline=None)
def test_sentences_are_pieces_of_the_text_in_order(text: str) -> None:
    """They do not overlap, are stripped, and hold every letter and digit of the text."""
    bounds = sentence_bounds(text)
    assert all(a < b for a, b in bounds)
    assert all(before[1] <= after[0] for before, after in pairwise(bounds))
    assert all(text[a:b] == text[a:b].strip() for a, b in bounds)
    kept = "".join(text[a:b] for a, b in bounds)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]
