"""`optimize routing`: a judge that chooses among classes goes the whole way, with the simulated
model.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.runs.config import Environment
from judgewright.runs.review import review_app
from judgewright.runs.store import Workspace, list_runs

from .run_command import run

WORDS = {
    "orders": ("invoice", "refund", "payment"),
    "inventory": ("stock", "warehouse", "supplier"),
    "support": ("ticket", "complaint", "satisfaction rating"),
    "staff": ("shift", "salary", "holiday"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve hundred made-up questions, those about bills from the south in words of support; and
    an edit for them.
    """
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    lines = []
    for i in range(1200):
        label = draw.choices(list(WORDS), (0.4, 0.3, 0.2, 0.1))[0]
        word, region = draw.choice(WORDS[label]), draw.choice(("north", "south", "east"))
        if label == "orders" and region == "south" and draw.random() < 0.7:
            word = "open call topic of the bill"
        question = f"Show the {word} {draw.choice(('figures', 'records'))} of week {i} in {region}?"
        line = {
            "id": f"q{i}",
            "question": question,
            "label": label,
            "group_id": f"g{i // 2}",
            "region": region,
        }
        lines.append(json.dumps(line) + "\n")
    (tmp_path / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    body = yaml.safe_load(Registry().get("routing").to_yaml())
    anchors = dict(body["scale"]["anchors"])
    anchors["orders"] += " Bills, also where somebody calls about an open bill or its topic."
    sources = "\n".join(f"{name}: {text}" for name, text in anchors.items())
    body.pop("version", None)
    body["criteria"] += f"\nWhat the sources hold, more exactly.\nScale:\n{sources}"
    (tmp_path / "edit.yaml").write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    return tmp_path


@pytest.mark.timeout(600)
def test_a_choice_is_optimized_shown_exported_and_adopted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Confused pair, loss by class, gate on one class's recall, diff, flips, report, export:
    nothing speaks of yes.
    """
    settings = ("--model", "simulated", "--proposer", "human", "--edit", "edit.yaml")
    wish = ("--objective", "stop calling orders support", "--yes")
    code, out, err = run(capsys, "optimize", "routing", "rows.jsonl", *wish, *settings)
    assert code == 0, err
    assert "Raise recall[orders]; f1_macro_grades may fall by at most 5 points" in out
    assert "orders -> support" in out
    assert "called support" in out
    assert "5. Gate, on the holdout: ACCEPTED" in out
    assert "no other threshold: the judge chooses among labels without an order" in out
    assert "false positive" not in out
    for arguments, shows in (
        (("diff", "latest"), "Bills, also where somebody calls"),
        (("runs", "show", "latest"), "recall[orders]"),
        (("runs", "show", "latest", "--flips"), "people: orders; judge: support -> orders"),
        (("slices", "latest"), "yes: orders -> support"),
        (
            ("slices", "latest", "--metric", "recall[orders]", "--save", "south.yaml"),
            "saved to south.yaml",
        ),
        (
            ("slices", "latest", "--rows", "1", "--limit", "1"),
            "orders called support; people orders, judge support",
        ),
        (("runs", "show", "latest", "--out", "shared"), "run.html"),
        (("accept", "latest"), "routing@"),
        (("export", "routing", "--to", "promptfoo", "--out", "handover"), "promptfoo"),
    ):
        code, out, err = run(capsys, *arguments)
        assert code == 0, (arguments, err)
        assert shows in out, arguments
    code, _, err = run(capsys, "slices", "latest", "--where", "region = south")
    assert code == 2
    assert "--where needs a judge that decides yes or no" in err
    page = (folder / "shared" / "run.html").read_text(encoding="utf-8")
    assert "called support" in page
    markdown = (folder / "shared" / "run.md").read_text(encoding="utf-8")
    head = markdown.partition("Gate:")[0]
    assert "Wanted: stop calling orders support" in head
    assert "Read as: Raise recall" in head
    for text in (page, head):
        assert "so that other classes do not pay for this one" in text
    assert "orders called support" in page
    code, _, err = run(capsys, "bench", "routing", "rows.jsonl", "--model", "simulated")
    assert code == 0, err
    runs = {info.kind: info.run_id for info in list_runs(Workspace(folder).database)}
    run_id = runs["optimize"]
    client = TestClient(
        review_app(folder, token="t0ken", port=8399, environment=Environment()),
        base_url="http://127.0.0.1:8399",
    )
    client.cookies.set("judgewright-8399", "t0ken")
    grades = client.get(f"/runs/{runs['bench']}").text.partition("<h2>Grades</h2>")[2]
    assert '<th scope="row">orders</th>' in grades, "classes by their names"
    for page, shows in (("evidence", "called support"), ("flips", "orders called support")):
        response = client.get(f"/runs/{run_id}/{page}")
        assert response.status_code == 200, page
        assert shows in response.text, page


@pytest.mark.timeout(600)
def test_macro_f1_is_planned_and_gated_and_a_persons_loss_is_followed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--target macro F1` with a guard on a class, and a loss that says which pair costs what."""
    loss = "(1 if label == 'orders' and verdict == 'support' else 0.3) * (1 - correct)"
    wish = (
        "--objective",
        "",
        "--target",
        "macro F1",
        "--guard",
        "recall[support]=0.3",
        "--loss",
        loss,
    )
    code, out, err = run(
        capsys, "optimize", "--plan", "routing", "rows.jsonl", *wish, "--model", "simulated"
    )
    assert code == 0, err
    words = " ".join(out.split())
    assert "Four times in five the gate would notice that f1_macro_grades rose by" in words
    assert "To be sure that recall[support] falls by at most 30 points it needs about" in words
    edit = ("--proposer", "human", "--edit", "edit.yaml")
    code, out, err = run(
        capsys, "optimize", "routing", "rows.jsonl", *wish, "--model", "simulated", *edit, "--json"
    )
    assert code == 0, err
    body = json.loads(out)
    assert body["decision"]["target"]["metric"] == "f1_macro_grades"
    assert body["decision"]["guards"][0]["metric"] == "recall[support]"
    assert "label == 'orders' and verdict == 'support'" in body["loss"]


@pytest.mark.timeout(600)
def test_an_objective_that_is_not_plain_stops_before_anything_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint has the metrics that there are."""
    wish = ("--objective", "make it better", "--model", "simulated")
    code, _, err = run(capsys, "optimize", "routing", "rows.jsonl", *wish)
    assert code == 2
    assert "is not settled" in err
    assert "recall[orders]" in err
    code, _, err = run(capsys, "optimize", "routing", "rows.jsonl", *wish, "--target", "precision")
    assert code == 2
    assert "is not a metric of a judge that chooses among classes" in err
