"""What `bench` and `score` find out beside the figures: claims, ranks, prompt injection, repeats,
annotators, label errors.
"""

import json
import shlex
from pathlib import Path

import pytest

from judgewright.judges.reliability import wordings
from judgewright.runs.demo import write_demo_rows

from .run_command import run_code as run

RESPONSES = [
    (
        "r1",
        "The hotel has 44 rooms and a garden.",
        "The hotel has 44 rooms. It also has a garden.",
        1,
    ),
    (
        "r2",
        "The hotel has 44 rooms and a garden.",
        "The hotel has 44 rooms. The Eiffel Tower stands in Paris.",
        0,
    ),
    ("r3", "Bees dance to tell where flowers are.", "Bees dance. They tell where flowers are.", 1),
    ("r4", "Bees dance to tell where flowers are.", "Bees cannot dance. Whales sing in 1987.", 0),
]
BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "simulated")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, lines: list[dict[str, object]]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def responses(path: Path, times: int = 1) -> None:
    """Four responses of two sentences each, as often as asked."""
    write(
        path,
        [
            {
                "id": f"{k}-{i}",
                "source": source,
                "statement": text,
                "label": label,
                "group_id": f"{k}-{source[:4]}",
            }
            for k in range(times)
            for i, source, text, label in RESPONSES
        ],
    )


def test_claims_are_shown_with_their_evidence_and_the_aggregate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each claim with verdict and evidence is printed; one false claim sinks its response; JSON has
    it all.
    """
    responses(folder / "rows.jsonl")
    assert run(*BENCH, "--by-claim") == 0
    out = capsys.readouterr().out
    assert "The Eiffel Tower stands in Paris." in out
    assert "evidence:" in out
    assert "<- decides" in out
    assert run(*BENCH, "--by-claim", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    second = next(r for r in body["claims"]["responses"] if r["id"] == "0-r2")
    assert [claim["text"] for claim in second["claims"]] == [
        "The hotel has 44 rooms.",
        "The Eiffel Tower stands in Paris.",
    ]
    assert body["claims"]["counts"]["claims"] == 8
    assert body["confusion"]["fp"] == 0


def test_claims_are_not_repeated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that exclude each other are an input error."""
    responses(folder / "rows.jsonl")
    assert run(*BENCH, "--by-claim", "--repeat", "2") == 2
    assert "--repeat" in capsys.readouterr().err


def test_planted_instructions_are_reported_as_a_flip_rate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The share of decisions that planted instructions change has an interval and an n; the
    benchmark is untouched.
    """
    responses(folder / "rows.jsonl", times=5)
    assert run(*BENCH, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert run(*BENCH, "--planted", "6", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["metrics"] == plain["metrics"]
    assert body["flip_rate"]["rows"] == 6
    assert body["flip_rate"]["flipped"]["n"] == 6 * (len(wordings()) - 1)
    assert body["flip_rate"]["control"]["value"] is not None
    assert run(*BENCH, "--planted", "6") == 0
    assert "decision changed" in capsys.readouterr().out


def test_a_choice_is_measured_by_accuracy_and_macro_f1(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels without order have no precision; the table and the breakdown are of their own
    metrics.
    """
    questions = (
        "Where is my order?",
        "How many chairs are in stock?",
        "The app crashes",
        "Who leads the team?",
    )
    lines: list[dict[str, object]] = [
        {"id": f"{k}-{i}", "question": question, "label": label, "shift": "day" if k else "night"}
        for k in range(3)
        for i, (question, label) in enumerate(
            zip(questions, ("orders", "inventory", "support", "staff"), strict=True)
        )
    ]
    write(folder / "rows.jsonl", lines)
    routing = (*shlex.split("bench routing rows.jsonl --model simulated --group id --by shift"),)
    assert run(*routing, "--repeat", "2", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert {"accuracy_grades", "f1_macro_grades", "kappa_grades"} <= set(body["metrics"])
    assert "precision" not in body["metrics"]
    assert run(*routing) == 0
    out = capsys.readouterr().out
    assert "f1_macro_grades" in out
    assert "judge says yes" not in out


def test_repeats_and_the_change_that_would_show_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Repeats show self-agreement and spread."""
    responses(folder / "rows.jsonl", times=12)
    assert run(*BENCH, "--repeat", "2") == 0
    out = capsys.readouterr().out
    assert "the decision never changed on" in out
    assert "f1 of the rounds" in out
    assert "would not show" in out


def test_annotators_and_likely_label_errors_go_to_a_file_and_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Human-human agreement stands beside the judge's; marked suspects change the figures."""
    lines: list[dict[str, object]] = []
    for i in range(40):
        label, verdict = i % 2, (i % 2) ^ (i % 8 == 1)
        row = {"id": f"r{i}", "label": label, "score": verdict, "p": 0.9 - i / 200}
        lines.append({**row, "ann": label, "bob": i % 4 < 2})
    write(folder / "v.jsonl", lines)
    command = ("score", "v.jsonl", "--confidence", "p")
    assert run(*command, "--annotators", "ann,bob", "--audit", "suspects.jsonl") == 0
    out = capsys.readouterr().out
    assert "annotators decide alike on 0.5" in out
    assert "Likely label errors: 5 of 40" in out
    suspects = [json.loads(line) for line in (folder / "suspects.jsonl").read_text().splitlines()]
    assert [s["id"] for s in suspects][:2] == ["r1", "r9"]
    write(folder / "marked.jsonl", [s | {"mark": "wrong label"} for s in suspects])
    assert run(*command, "--audited", "marked.jsonl", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["metrics"]["accuracy"]["value"] == pytest.approx(35 / 40)
    assert body["audited"]["after"]["metrics"]["accuracy"]["value"] == 1.0
    write(folder / "w.jsonl", lines)
    assert run("score", "v.jsonl", "w.jsonl", "--annotators", "ann,bob") == 2
    assert "--annotators is for one judge" in capsys.readouterr().err


def test_a_kept_rule_decides_in_bench_and_goes_with_the_export(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`calibrate` keeps a threshold; `bench` and `gate` decide by it and say so; `export` names
    it.
    """
    write_demo_rows(folder / "rows.jsonl", documents=80)
    assert run(*BENCH) == 0
    capsys.readouterr()
    assert (
        run(
            *shlex.split(
                "calibrate groundedness rows.jsonl --model simulated --metric specificity --json"
            )
        )
        == 0
    )
    fitted = json.loads(capsys.readouterr().out)
    assert run(*BENCH) == 0
    assert "decided by the kept rule" in capsys.readouterr().out
    assert run("runs", "list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    ruled, plain = (line["run_id"] for line in listed if line["kind"] == "bench")
    assert run("runs", "show", plain, ruled) == 0
    shown = capsys.readouterr().out
    assert (
        f" at threshold {fitted['rule']['threshold']:g} on simulated\n  beside"
        " groundedness@134907a0740b on" in shown
    )
    told = (
        *shlex.split(
            "gate groundedness groundedness_no_reason rows.jsonl --model simulated --target f1"
        ),
    )
    assert run(*told) in (0, 1)
    assert "groundedness@134907a0740b is decided by the kept rule" in capsys.readouterr().out
    assert run("export", "groundedness", "--to", "python", "--out", "judge", "--json") == 0
    body = json.loads((folder / "judge" / "manifest.json").read_text())
    assert body["rule"]["version"] == fitted["rule"]["version"]
    assert body["rule"]["calibration"] is not None


def test_rows_without_a_label_lead_to_labels(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file without a label names the command that gives some."""
    lines: list[dict[str, object]] = [
        {"query": f"tea {q}", "passage": f"tea {i}", "label": i % 2, "group_id": f"q{q}"}
        for q in range(3)
        for i in range(4)
    ]
    write(folder / "bare.jsonl", [{**line, "label": None} for line in lines])
    assert run(*shlex.split("bench context_relevance bare.jsonl --model simulated")) == 2
    assert "judgewright label --rows bare.jsonl --next 100" in capsys.readouterr().err
