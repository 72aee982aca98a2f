"""`judges cases`: a version of a judge with a bank out of a labelled file."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.runs.config import Environment
from judgewright.runs.review import review_app

from .review.conftest import OURS, PORT, TOKEN
from .run_command import run_code as run

PROMPT = Registry().get("groundedness")


def rows(n: int = 30) -> list[dict[str, Any]]:
    """Rows of ten documents, labelled by turns, every third with a reason."""
    return [
        {
            "id": f"r{i}",
            "document": f"d{i // 3}",
            "source": f"Source number {i}: the {word} was sold in {1900 + i}.",
            "statement": f"The {word} was sold.",
            "label": i % 2,
            "why": "the year differs" if i % 3 == 0 else "",
            "kind": "old" if i < 10 else "new",
        }
        for i, word in enumerate(["crane", "harbour", "bridge", "mill", "barn"] * (n // 5))
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace's folder with a file of rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows())))
    return tmp_path


def cases(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """What the command says of a version that it makes."""
    at = ("judges", "cases", "groundedness", "rows.jsonl", "--group", "document")
    assert run(*at, *options, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_labelled_rows_of_a_slice_become_cases_with_their_reasons(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new version is kept beside the old one, which the name still means."""
    options = ("--show", "2", "--reason", "why", "--where", "kind = old", "--max-tokens", "900")
    made = cases(capsys, *options)
    assert (made["cases"], made["by_decision"]) == (10, {"positive": 5, "negative": 5})
    assert 20 < made["tokens_per_row"] < 400
    registry = Registry(folder / "prompts")
    assert registry.get("groundedness").version == PROMPT.version
    new = registry.get(f"groundedness@{made['version']}")
    assert (new.parent, new.criteria) == (PROMPT.version, PROMPT.criteria)
    assert new.cases is not None
    assert (new.cases.count, new.cases.max_tokens, new.cases.balanced) == (2, 900, True)
    first = new.cases.bank.cases[0]
    assert (first.id, first.group, first.label) == ("r0", "d0", "0")
    assert first.reason == "the year differs"
    assert {case.id for case in new.cases.bank.cases} == {f"r{i}" for i in range(10)}


def test_the_command_says_what_became_of_the_rows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words, and the difference to the judge it was made from says the same."""
    unlabelled = [{**row, "label": None} if row["id"] == "r5" else row for row in rows(15)]
    (folder / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, unlabelled)))
    assert (
        run("judges", "cases", "groundedness", "rows.jsonl", "--unbalanced", "--by", "fixed") == 0
    )
    out = capsys.readouterr().out
    assert ": 4 decided cases, the first of 14; from rows\n" in out
    assert "  cases      14: 8 negative, 6 positive\n" in out
    assert "  left out   1 without a label\n" in out
    spec = out.split(":")[0]
    assert f"measure it: judgewright bench {spec} ROWS --model NAME" in out
    assert run("judges", "show", spec) == 0
    assert capsys.readouterr().out.endswith("\n# 4 decided cases, the first of 14\n")
    assert run("judges", "show", "groundedness", spec) == 0
    shown = capsys.readouterr().out
    assert "4 decided cases, the first of 14" in shown
    assert "Source number 3" in shown
    assert run("bench", spec, "rows.jsonl", "--model", "simulated") == 0


def test_sealed_rows_are_named_and_no_cases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No text of theirs stands in the bank."""
    at = ("bench", "groundedness", "rows.jsonl", "--group", "document", "--model", "simulated")
    assert run(*at, "--seal", "--json") == 0
    capsys.readouterr()
    made = cases(capsys)
    assert made["sealed"]
    assert made["cases"] == 30 - len(made["sealed"])
    texts = "".join(
        path.read_text()
        for path in folder.rglob("*")
        if path.suffix in (".yaml", ".jsonl") and path.name != "rows.jsonl"
    )
    by_id = {row["id"]: row for row in rows()}
    assert by_id[made["sealed"][0]]["source"] not in texts
    assert any(by_id[i]["source"] in texts for i in by_id.keys() - set(made["sealed"]))


def test_what_cannot_be_a_case_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column of reasons that is not there, and a file without a row that may be one."""
    at = ("judges", "cases", "groundedness", "rows.jsonl")
    assert run(*at, "--reason", "reason") == 2
    assert "no row of rows" in capsys.readouterr().err
    bare = [{**row, "label": None} for row in rows(5)]
    (folder / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, bare)))
    assert run(*at) == 2


def test_the_page_shows_a_bank_and_what_came_as_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge's page has how cases are chosen and the first of them; no text of a row is markup."""
    hostile = [{**row, "source": f"<script>alert({i})</script>"} for i, row in enumerate(rows())]
    (folder / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, hostile)))
    version = cases(capsys, "--reason", "why")["version"]
    assert run("judges", "use", f"groundedness@{version}") == 0
    app = review_app(folder, token=TOKEN, port=PORT, environment=Environment())
    cookies = {f"judgewright-{PORT}": TOKEN}
    with TestClient(app, base_url=OURS, cookies=cookies) as visitor:
        page = visitor.get("/judges/groundedness").text
        at = f"/judges/groundedness/diff?from={PROMPT.version}&to={version}"
        difference = visitor.get(at).text
    for text in (page, difference):
        assert "4 decided cases, the nearest of 30, as many of each decision (bank " in text
        assert "&lt;script&gt;alert(0)" in text
        assert "reason: the year differs" in text
        assert "and 25 more cases" in text
        assert "<script>alert" not in text
