"""Relevance definitions: drafted, improved, read from and written to files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import DataError
from judgewright.judges.models import Client, Completion, Request
from judgewright.plugins.rag.annotation import (
    MOST_PASSAGES,
    PASSAGE_CHARS,
    Definition,
    Query,
    define_rows,
    draft_definitions,
    given_definition,
    improve_definitions,
    read_marked,
    read_queries,
)


class Scripted:
    """Answers with a fixed text and keeps what it was shown."""

    name, endpoint, simulated = "scripted", "https://scripted.invalid/v1", False

    def __init__(self, text: str) -> None:
        self.text = text
        self.shown: list[str] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer once."""
        self.shown.append(request.messages[-1].content)
        return Completion(text=self.text)

    async def close(self) -> None:
        """Hold nothing open."""


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as JSONL."""
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


GOOD = json.dumps(
    {"meaning": " How ferries are paid for. ", "examples": ["fares", "  state\n aid ", ""]}
)


def test_a_draft_is_a_meaning_and_a_list_of_what_is_sought() -> None:
    """The text a judge reads has both; blank examples go, line breaks inside one do not stay."""
    with Client(Scripted(GOOD)) as client:
        (found,) = draft_definitions([Query(text="ferry funding")], client)
    assert (
        found.text == "How ferries are paid for.\n\nSought are, for example:\n- fares\n- state aid"
    )
    assert found.origin.startswith("define_relevance@")
    assert (found.passages, found.unanswered, found.simulated) == (0, None, False)


@pytest.mark.parametrize(
    "reply", ["I cannot", '{"meaning": "m"}', '{"meaning": " ", "examples": ["e"]}']
)
def test_an_unreadable_draft_is_no_definition_and_says_why(reply: str) -> None:
    """Nothing is made up in its place; the line of the file has null."""
    with Client(Scripted(reply)) as client:
        (found,) = draft_definitions([Query(text="q")], client)
    assert found.text == ""
    line = found.to_json()
    assert (line["relevance_definition"], line["unanswered"]) == (None, "parse")
    assert line["detail"]


def test_an_improvement_sees_the_first_marked_passages_in_part_and_replaces_the_draft() -> None:
    """One line a passage, at most so many and so long; the draft is shown whole."""
    draft = Definition(
        query="q", meaning="Old meaning.", examples=("old example",), origin="define_relevance@0"
    )
    passages = [f"passage {i}\n" + "x" * 3 * PASSAGE_CHARS for i in range(MOST_PASSAGES + 5)]
    model = Scripted(GOOD)
    with Client(model) as client:
        (found,) = improve_definitions([draft], {"q": passages}, client)
    (shown,) = model.shown
    assert draft.text in shown
    assert f"[{MOST_PASSAGES}] passage" in shown
    assert f"[{MOST_PASSAGES + 1}]" not in shown
    assert shown.count("x") < (PASSAGE_CHARS + 10) * MOST_PASSAGES
    assert found.passages == MOST_PASSAGES
    assert found.meaning == "How ferries are paid for."


def test_what_cannot_be_improved_stays_as_it_was() -> None:
    """No marked passage, no text, or no readable answer; only the last was asked about."""
    draft = Definition(query="q", meaning="Old.", origin="given")
    blank = Definition(query="q")
    model = Scripted("no")
    with Client(model) as client:
        unmarked, empty, failed = improve_definitions(
            [Definition(query="other", meaning="Old."), blank, draft],
            {"q": ["p"], "other": []},
            client,
        )
    assert len(model.shown) == 1
    assert (unmarked.text, unmarked.unanswered) == ("Old.", None)
    assert empty == blank
    assert failed.text == "Old."
    assert failed.unanswered is not None


def test_queries_are_read_once_each_with_the_definition_they_have(tmp_path: Path) -> None:
    """In the order of the file; `question` serves where there is no `query`; a later row may bring
    the definition.
    """
    rows = [
        {"question": "b", "relevance_definition": None},
        {"question": "a", "relevance_definition": "about a"},
        {"question": "b", "relevance_definition": " about b "},
    ]
    found = read_queries(write(tmp_path / "q.jsonl", rows))
    assert found == (Query(text="b", definition="about b"), Query(text="a", definition="about a"))
    assert given_definition(found[0]).text == "about b"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"topic": "a"}], "no column 'query' or 'question'"),
        ([{"query": "a"}, {"query": " "}], "line 2: field 'query' is empty"),
        ([{"query": "a"}, {"other": "b"}], "line 2: field 'query' is empty"),
    ],
)
def test_a_file_without_queries_is_refused_by_name(
    tmp_path: Path, rows: list[dict[str, object]], message: str
) -> None:
    """The message names the column or the line."""
    with pytest.raises(DataError, match=message):
        read_queries(write(tmp_path / "q.jsonl", rows))


def test_marked_passages_are_those_at_or_above_the_threshold(tmp_path: Path) -> None:
    """On 0..3 a 2 is relevant and a 1 is not; on shares one half is; a row without a label marks
    nothing.
    """
    graded = [{"query": "q", "passage": f"p{g}", "label": g} for g in (0, 1, 2, 3)] + [
        {"query": "q", "passage": "none"}
    ]
    assert read_marked(write(tmp_path / "g.jsonl", graded)) == {"q": ["p2", "p3"]}
    shares = [{"question": "q", "paragraph": f"p{g}", "label": g} for g in (0, 0.5, 1)]
    assert read_marked(write(tmp_path / "s.jsonl", shares)) == {"q": ["p0.5", "p1"]}
    with pytest.raises(DataError, match="no column 'passage' or 'paragraph' or 'text'"):
        read_marked(write(tmp_path / "c.jsonl", [{"query": "q", "chunk": "p", "label": 1}]))


def test_rows_get_the_definition_of_their_query(tmp_path: Path) -> None:
    """All other columns stay; a query without a definition has null."""
    rows = [{"id": "1", "query": "a", "label": 1}, {"id": "2", "query": "b", "label": 0}]
    path = write(tmp_path / "rows.jsonl", rows)
    found = define_rows(path, [Definition(query="a", meaning="About a."), Definition(query="b")])
    assert found == [
        rows[0] | {"relevance_definition": "About a."},
        rows[1] | {"relevance_definition": None},
    ]
