"""`judgewright route`: from a catalogue and questions to choices that are measured like any
judge's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from sklearn.metrics import accuracy_score, f1_score

from ...runs.run_command import run as run_command

EXPERTS = Path(__file__).resolve().parents[3] / "docs/how-to/expert-fields.yaml"
SHARED = (Path(__file__).resolve().parents[3] / "../shared/data").resolve()
WORDS = {
    "orders": ("invoice", "refund", "payment"),
    "inventory": ("stock", "warehouse", "supplier"),
    "support": ("ticket", "complaint", "call"),
    "staff": ("shift", "salary", "holiday"),
    "fleet": ("truck", "fuel", "driver"),
}
ASK = ("rag", "route", "ask", "q.jsonl", "--catalog", "c.yaml", "--model", "simulated")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command with `--json`; its code and its object."""
    code, out, _ = run_command(capsys, *arguments, "--json")
    return code, json.loads(out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of five sources, and sixty questions, some in the words of two of them."""
    monkeypatch.chdir(tmp_path)
    names = list(WORDS)
    sources = [{"name": name, "description": ", ".join(words)} for name, words in WORDS.items()]
    sources[4]["only"] = {"region": "north"}  # type: ignore[assignment]
    Path("c.yaml").write_text(yaml.safe_dump({"sources": sources}, sort_keys=False))
    lines: list[dict[str, object]] = []
    for i in range(60):
        label, region = names[i % 5], ("north", "south")[i % 7 > 0]
        words = [WORDS[label][i % 3], *([WORDS[names[(i + 1) % 5]][i % 3]] * (i % 4 == 0))]
        text = f"Which {' and '.join(reversed(words))} of week {i}?"
        lines.append({"id": str(i), "question": text, "label": label, "region": region})
    Path("q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_questions_are_routed_and_measured_as_scikit_learn_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stages, accuracy and macro F1 over the file that is written; it is scored and sliced like any
    verdict file.
    """
    code, body = run(capsys, *ASK, "--k", "3", "--out", "v.jsonl")
    assert code == 0
    assert body["simulated"] is True
    lines = [json.loads(line) for line in Path("v.jsonl").read_text().splitlines()]
    people, judge = [line["label"] for line in lines], [line["score"] for line in lines]
    found = {
        name: body["benchmark"]["metrics"][name]["value"]
        for name in ("accuracy_grades", "f1_macro_grades")
    }
    assert found["accuracy_grades"] == pytest.approx(accuracy_score(people, judge))
    assert found["f1_macro_grades"] == pytest.approx(f1_score(people, judge, average="macro"))
    rows = [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]
    shut = sum(row["label"] == "fleet" and row["region"] == "south" for row in rows)
    kept = [stage["kept"]["value"] for stage in body["stages"]]
    assert kept[:2] == [1.0, pytest.approx(1 - shut / 60)]
    assert found["accuracy_grades"] <= kept[2] <= kept[1]
    assert [stage["sources"] for stage in body["stages"]][::2] == [5.0, 3.0]
    assert sum(body["chosen"].values()) == 60
    code, again = run(capsys, *ASK, "--k", "3")
    assert (code, again["calls"]) == (0, 0)
    assert again["benchmark"]["metrics"] == body["benchmark"]["metrics"]
    code, scored = run(capsys, "score", "v.jsonl")
    assert scored["metrics"]["accuracy_grades"]["value"] == found["accuracy_grades"]
    assert run(capsys, "slices", "v.jsonl")[0] == 0


def test_the_choice_is_a_judge_like_any_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all sources left, it asks just what `bench` asks: nothing is paid twice, and the
    verdicts are the same.
    """
    catalog = yaml.safe_load(Path("c.yaml").read_text())
    catalog["sources"][4].pop("only")
    Path("c.yaml").write_text(yaml.safe_dump(catalog, sort_keys=False))
    assert run(capsys, "rag", "route", "judge", "c.yaml", "--out", "router.yaml")[0] == 0
    code, bench = run(capsys, "bench", "router.yaml", "q.jsonl", "--model", "simulated")
    assert code == 0
    code, body = run(capsys, *ASK, "--judge", "router.yaml", "--k", "9")
    assert (code, body["calls"]) == (0, 0)
    assert body["benchmark"]["metrics"] == bench["metrics"]
    wish = ("--objective", "raise recall[orders]", "--model", "simulated")
    assert run_command(capsys, "optimize", "--plan", "router.yaml", "q.jsonl", *wish)[0] == 0


def test_questions_without_labels_are_routed_and_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is measured, and the output says so."""
    rows = [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]
    Path("q.jsonl").write_text("".join(json.dumps(row | {"label": None}) + "\n" for row in rows))
    code, out, _ = run_command(capsys, *ASK)
    assert code == 0
    assert "no question has a label, so that nothing is measured" in out
    code, body = run(capsys, *ASK)
    assert (code, body["benchmark"], body["first_retrieved"]) == (0, None, None)


def test_what_does_not_fit_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is asked."""
    Path("bad.yaml").write_text("sources: [{name: a, description: b}]")
    Path("two.yaml").write_text("sources: [{name: a, description: b}, {name: c, description: d}]")
    assert run(capsys, "rag", "route", "judge", "two.yaml", "--out", "r.yaml")[0] == 0
    ask = ("rag", "route", "ask", "q.jsonl", "--model", "simulated", "--catalog")
    cases = {
        (*ask, "bad.yaml"): "it has 1 sources, and a choice needs two",
        (*ask, "none.yaml"): "none.yaml",
        (*ask, "two.yaml"): "'orders' is neither a number nor one of 'a', 'c'",
        (*ask, "c.yaml", "--judge", "r.yaml"): "differ in the sources a, c, fleet",
        (*ask, "c.yaml", "--judge", "groundedness"): "groundedness does not choose among classes",
        (*ask, "c.yaml", "--column", "question=text"): "the column 'text' is missing",
        (
            "rag",
            "route",
            "judge",
            "c.yaml",
            "--from",
            "groundedness",
            "--out",
            "x.yaml",
        ): "does not choose among classes",
    }
    for given, message in cases.items():
        code, body = run(capsys, *given)
        assert code == 2, given
        assert message in body["error"]["message"], given
    assert not Path("x.yaml").exists()


def test_experts_questions_are_routed_to_their_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures of docs/how-to/route.md."""
    data = SHARED / "groundedness_expertqa.jsonl"
    if not data.exists():
        pytest.skip("shared/data is not beside the checkout")
    monkeypatch.chdir(tmp_path)
    reading = ("--column", "question=query", "--label", "domain", "--group", "group_id")
    code, body = run(
        capsys,
        "rag",
        "route",
        "ask",
        str(data),
        "--catalog",
        str(EXPERTS),
        *reading,
        "--model",
        "simulated",
    )
    assert code == 0
    assert body["calls"] == 189
    assert body["stages"][2]["kept"]["value"] == pytest.approx(0.758, abs=5e-4)
    first, chosen = body["first_retrieved"]["metrics"], body["benchmark"]["metrics"]
    assert first["accuracy_grades"]["value"] == pytest.approx(0.417, abs=5e-4)
    assert first["f1_macro_grades"]["value"] == pytest.approx(0.401, abs=5e-4)
    assert chosen["accuracy_grades"]["value"] == pytest.approx(0.394, abs=5e-4)
