"""The table of columns on the page Label: shown where a judge's inputs have other names."""

from __future__ import annotations

from pathlib import Path

from judgewright.runs.store import Workspace, list_runs

from .conftest import ATTACK, HEADERS, visit

ROWS = (
    f"context,answer,{ATTACK}\n"
    '"The Matterhorn is a mountain of the Alps, 4,478 metres high.",It is high.,x\n'
    '"Berne has been the seat of the Swiss government since 1848.",In Zurich.,y\n'
)
FORM = {"data": "rows.csv", "judge": "groundedness", "annotator": "me"}


def test_a_queue_of_foreign_columns_is_made_once_they_are_agreed_to(tmp_path: Path) -> None:
    """Before that nothing is entered; afterwards the rows have the judge's inputs."""
    (tmp_path / "rows.csv").write_text(ROWS)
    with visit(tmp_path) as desk:
        shown = desk.post("/label", data=FORM, headers=HEADERS)
        assert (shown.status_code, "Columns of rows.csv" in shown.text) == (200, True)
        assert ATTACK not in shown.text
        with Workspace(tmp_path) as workspace:
            assert not workspace.exists or not list_runs(workspace.database)
        picks = ["column-source=context", "column-statement=answer"]
        for pick in picks:
            assert f'<option value="{pick}" selected>' in shown.text
        sent = {**FORM, "pick": picks, "agreed": "yes"}
        made = desk.post("/label", data=sent, headers=HEADERS)
        assert made.status_code == 303
        row = desk.get(made.headers["location"]).text
        assert "<h2" in row
        assert "In Zurich." in row or "It is high." in row


def test_a_queue_of_the_usual_columns_is_made_at_once(tmp_path: Path) -> None:
    """Nobody is asked what the names say."""
    (tmp_path / "rows.csv").write_text(ROWS.replace("context,answer", "source,statement"))
    with visit(tmp_path) as desk:
        assert desk.post("/label", data=FORM, headers=HEADERS).status_code == 303


def test_a_verdict_file_with_other_columns_is_offered_once_they_are_said(tmp_path: Path) -> None:
    """A copy with the usual names is kept; the file itself stays as it is."""
    content = b"row_id,judge_score,human_label\na,1,1\nb,0,1\n"
    with visit(tmp_path) as desk:
        files = {"data": ("verdicts.csv", content)}
        sent = desk.post("/compare/upload", files=files, headers=HEADERS)
        shown = desk.get(sent.headers["location"]).text
        picks = ["column-score=judge_score", "label=human_label", "id_=row_id"]
        for pick in picks:
            assert f'<option value="{pick}" selected>' in shown
        form = {"file": "data/verdicts.csv", "pick": picks}
        kept = desk.post("/compare/columns", data=form, headers=HEADERS)
        assert kept.status_code == 303
        assert "Columns of" not in desk.get(kept.headers["location"]).text
        refused = desk.post("/compare/columns", data={**form, "pick": picks[1:]}, headers=HEADERS)
        assert "no column is chosen as the judge&#39;s score" in refused.text
    [copy] = (tmp_path / "data").glob("*.jsonl")
    assert copy.read_text().splitlines()[0] == '{"id":"a","score":"1","label":"1"}'
    assert (tmp_path / "data" / "verdicts.csv").read_bytes() == content
