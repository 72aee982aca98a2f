"""`judgewright define`: what it writes, what it pays for, and how it leaves."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from judgewright.plugins.rag.commands.define import define
from judgewright.runs.store import Workspace, list_runs

QUERIES = ["how are ferries funded", "who repairs old piers"]


class Refusing(BaseHTTPRequestHandler):
    """Finds every request too long."""

    def do_POST(self) -> None:  # the name http.server asks for
        """Refuse for good."""
        self.rfile.read(int(self.headers["content-length"]))
        body = (
            b'{"error": {"message": "too long", "type": "invalid_request_error", "code":'
            b' "context_length_exceeded"}}'
        )
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with rows of two queries, three of them marked relevant."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": "1", "query": QUERIES[0], "passage": "Subsidies pay for boats.", "label": 3},
        {"id": "2", "query": QUERIES[1], "passage": "Divers inspect timber.", "label": 0},
        {"id": "3", "query": QUERIES[0], "passage": "State subsidies grew.", "label": 2},
        {"id": "4", "query": QUERIES[0], "passage": "Gulls are loud.", "label": 1},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


MODEL = ("--model", "simulated")


def run(*arguments: str) -> Result:
    """Run the command; errors of ours come through as they are."""
    return CliRunner().invoke(define, arguments, catch_exceptions=False, standalone_mode=True)


def lines(path: Path) -> list[dict[str, object]]:
    """Read a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_definition_a_query_is_written_and_not_paid_for_twice(folder: Path) -> None:
    """One line a query; the second time every answer comes from the record."""
    first = json.loads(run("rows.jsonl", *MODEL, "--out", "d.jsonl", "--json").output)
    second = json.loads(run("rows.jsonl", *MODEL, "--out", "e.jsonl", "--json").output)
    assert (first["schema_version"], first["queries"], first["defined"], first["calls"]) == (
        1,
        2,
        2,
        2,
    )
    assert second["calls"] == 0
    assert first["simulated"]
    found = lines(folder / "d.jsonl")
    assert [line["query"] for line in found] == QUERIES
    assert all("Sought are" in str(line["relevance_definition"]) for line in found)
    assert found == lines(folder / "e.jsonl")


def test_an_edited_draft_is_what_is_improved(folder: Path) -> None:
    """Nothing is drafted again; a query without a marked passage keeps its text; marked words come
    in.
    """
    assert run("rows.jsonl", *MODEL, "--out", "d.jsonl").exit_code == 0
    edited = [
        line | {"relevance_definition": f"EDITED {line['query']}"}
        for line in lines(folder / "d.jsonl")
    ]
    (folder / "d.jsonl").write_text("\n".join(map(json.dumps, edited)), encoding="utf-8")
    body = json.loads(
        run("d.jsonl", *MODEL, "--improve", "rows.jsonl", "--out", "better.jsonl", "--json").output
    )
    assert (body["calls"], body["improved"], body["without_marked_passages"]) == (1, 1, 1)
    ferries, piers = lines(folder / "better.jsonl")
    assert str(ferries["relevance_definition"]).startswith(f"EDITED {QUERIES[0]}")
    assert "subsidies" in str(ferries["relevance_definition"])
    assert "gulls" not in str(ferries["relevance_definition"])
    assert ferries["passages"] == 2
    assert (piers["relevance_definition"], piers["origin"]) == (f"EDITED {QUERIES[1]}", "given")


def test_without_a_draft_the_improvement_drafts_first(folder: Path) -> None:
    """Two calls for the drafts, one for the query that has marked passages."""
    result = run("rows.jsonl", *MODEL, "--improve", "rows.jsonl", "--out", "d.jsonl")
    assert "3 calls" in result.output
    assert "2 of 2 queries defined, 1 of them improved" in result.output
    assert "1 queries have no passage that was marked as relevant" in result.output
    assert "SIMULATED" in result.output


def test_rows_are_written_with_the_column_for_a_judge_that_reads_it(folder: Path) -> None:
    """Every column of the file stays."""
    assert run("rows.jsonl", *MODEL, "--rows", "--out", "rows_defined.jsonl").exit_code == 0
    before, after = lines(folder / "rows.jsonl"), lines(folder / "rows_defined.jsonl")
    assert [
        {k: v for k, v in row.items() if k != "relevance_definition"} for row in after
    ] == before
    assert len({row["relevance_definition"] for row in after}) == 2


def test_a_spent_budget_leaves_with_3_and_the_lines_say_so(folder: Path) -> None:
    """What could be had is written, here nothing but the reasons."""
    spent = run("rows.jsonl", *MODEL, "--out", "d.jsonl", "--budget", "1tokens")
    assert spent.exit_code == 3
    assert [line["unanswered"] for line in lines(folder / "d.jsonl")] == ["budget", "budget"]
    assert "the budget ended before 2 queries were answered" in spent.output


def test_an_endpoint_that_answers_no_query_leaves_with_3(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request is refused; the file says why for each query."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        model = f"m@http://127.0.0.1:{server.server_port}/v1"
        left = run("rows.jsonl", "--out", "d.jsonl", "--model", model)
    finally:
        server.shutdown()
        server.server_close()
    assert left.exit_code == 3
    assert "the endpoint answered no query: the endpoint answered 400: too long" in left.output
    with Workspace(folder) as place:
        assert [info.state for info in list_runs(place.database)] == ["stopped"]
    assert [line["unanswered"] for line in lines(folder / "d.jsonl")] == ["endpoint", "endpoint"]
