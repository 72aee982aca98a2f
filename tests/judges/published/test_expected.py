"""Figures of others computed again: what counts as equal, what is said of the rest."""

import json
import re
from pathlib import Path

import numpy as np
import orjson
import pytest
import sklearn.metrics as sk
import yaml
from scipy.stats import spearmanr

from judgewright.judges import DataError
from judgewright.judges.published import (
    Line,
    Rule,
    all_agree,
    check_expected,
    read_expected,
    shipped_rule,
)
from judgewright.judges.published.rules import shipped_rules

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
needs_verdicts = pytest.mark.skipif(
    not VERDICTS.exists(), reason="the shared data are not beside the checkout"
)

ENTRIES = yaml.safe_load((Path(__file__).parent / "entries.yaml").read_text(encoding="utf-8"))
ROWS = [(1, 1)] * 6 + [(0, 1)] * 3 + [(1, 0)] * 2 + [(0, 0)] * 9
"""Labels and scores: precision 6/9, recall 6/8, F1 12/17."""


def check(folder: Path, figures: dict[str, object], *, name: str = "mine.jsonl") -> list[Line]:
    """Write the rows and expectations about them, and compute."""
    rows = [{"id": i, "label": y, "score": s} for i, (y, s) in enumerate(ROWS)]
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "expected.json").write_text(json.dumps({name: figures}))
    return list(check_expected(folder / "expected.json", folder))


@pytest.mark.slow
@needs_verdicts
def test_every_published_figure_is_found_again() -> None:
    """Nothing differs."""
    lines = check_expected(VERDICTS / "expected.json", VERDICTS)
    asked = json.loads((VERDICTS / "expected.json").read_text())
    assert {(file, figure) for file, figures in asked.items() for figure in figures} <= {
        (line.file, line.figure) for line in lines
    }
    assert [line for line in lines if not line.accepted] == []
    assert all(line.n for line in lines)


@pytest.mark.parametrize(("said", "status"), ENTRIES["digits"])
def test_a_figure_is_equal_to_the_digits_that_were_printed(
    tmp_path: Path, said: dict[str, object], status: str
) -> None:
    """Half a unit of the last digit, against the published and the computed figure; a misprint
    needs the right one.
    """
    (line,) = check(tmp_path, {"f1": said | {"definition": "binary F1"}})
    assert line.status == status
    assert line.accepted == (status in ("equal", "misprint"))
    assert line.ours == pytest.approx(12 / 17)
    assert (line.n, line.definition) == (20, "binary F1")
    json.dumps(line.to_json(), allow_nan=False)


def test_a_name_is_enough_where_nothing_needs_to_be_chosen(tmp_path: Path) -> None:
    """Of 0 and 1 on both sides no threshold is missing: the figure is the metric so called; others
    ask for a rule.
    """
    lines = check(
        tmp_path,
        {
            "Balanced accuracy": {"published": 0.75, "computed": None},
            "recall": {"published": 75.0, "computed": None, "definition": "recall x100"},
            "Label counts 0..3": {"published": [11, 9, 0, 0], "computed": [11, 9, 0, 0]},
            "Elo": {"published": 1200, "computed": None},
        },
    )
    assert [line.status for line in lines] == ["equal", "equal", "not computed", "not computed"]
    assert "no rule says how 'Elo' is computed" in lines[3].remark


@pytest.mark.parametrize(
    ("label", "score", "figures"),
    [
        ([0, 1, 2, 3], [0, 2, 2, 3], ["precision", "f1", "kappa", "map"]),
        ([0, 1, 1, 0], [0.1, 0.7, 0.4, 0.6], ["accuracy", "mcc"]),
        ([1, 5, 3, 4], [1, 4, 3, 5], ["recall", "krippendorff_alpha"]),
    ],
)
def test_a_threshold_is_never_guessed(
    tmp_path: Path, label: list[int], score: list[float], figures: list[str]
) -> None:
    """A figure without a rule is refused wherever some threshold would decide; a correlation is
    not.
    """
    rows = [
        {"id": i, "label": y, "score": s} for i, (y, s) in enumerate(zip(label, score, strict=True))
    ]
    (tmp_path / "theirs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    body = {"theirs.jsonl": {name: {"published": 0.5} for name in (*figures, "spearman")}}
    (tmp_path / "expected.json").write_text(json.dumps(body))
    *graded, ranks = check_expected(tmp_path / "expected.json", tmp_path)
    assert {line.status for line in graded} == {"not computed"}
    assert all("needs a threshold and nothing states it" in line.remark for line in graded)
    assert ranks.ours is not None
    assert not all_agree(tuple(graded))


LABELS = (0, 1, 2, 3, 2, 1, 0, 3, 2, 1)
GRADED = list(zip(LABELS, (0.2, 0.4, 0.5, 0.9, 0.7, 0.6, 0.1, 0.5, 0.3, 0.5), strict=True))
"""Another judge: labels 0..3, scores that are probabilities, several at 0.5."""


def theirs(folder: Path, figures: dict[str, object], **columns: list[object]) -> dict[str, Line]:
    """Write a stranger's verdicts and expectations, and compute; by the figure's name."""
    rows = [{"id": i, "gold": y, "says": s} for i, (y, s) in enumerate(GRADED)]
    rows = [
        {**row, **{name: cells[i] for name, cells in columns.items()}} for i, row in enumerate(rows)
    ]
    (folder / "theirs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "expected.json").write_text(json.dumps({"theirs.jsonl": figures}))
    return {line.figure: line for line in check_expected(folder / "expected.json", folder)}


def test_a_rule_says_how_a_strangers_figure_is_computed(tmp_path: Path) -> None:
    """Columns, thresholds, strictness, percentages, maps and groups, each against scikit-learn on
    the plain arrays.
    """
    label, score = (np.array(side) for side in zip(*GRADED, strict=True))
    topics = ["a", "b"] * 5
    sides = {"label": "gold", "score": "says"}
    rules: dict[str, tuple[dict[str, object], float]] = {
        "at": (
            {"metric": "f1", "threshold": 0.5, "label_threshold": 2},
            sk.f1_score(label >= 2, score >= 0.5),
        ),
        "above": (
            {"metric": "f1", "threshold": 0.5, "label_threshold": 2, "above": True},
            sk.f1_score(label > 2, score > 0.5),
        ),
        "percent": (
            {"metric": "precision", "threshold": 0.4, "label_threshold": 1, "times": 100},
            100 * sk.precision_score(label >= 1, score >= 0.4),
        ),
        "area": (
            {"metric": "AUROC", "threshold": 0.5, "label_threshold": 2},
            sk.roc_auc_score(label >= 2, score),
        ),
        "mapped": (
            {"metric": "kappa", "threshold": 0.5, "label_map": {"0": 0, "1": 0, "2": 1, "3": 1}},
            sk.cohen_kappa_score(label >= 2, score >= 0.5),
        ),
        "false alarms": ({"metric": "fp", "threshold": 0.5, "label_threshold": 2}, 2.0),
        "macro": (
            {"metric": "f1_macro", "by": "topic", "threshold": 0.5, "label_threshold": 2},
            float(np.mean([sk.f1_score(label[i::2] >= 2, score[i::2] >= 0.5) for i in range(2)])),
        ),
        "text": (
            {"metric": "f1", "threshold": "0.5", "label_threshold": "2"},
            sk.f1_score(label >= 2, score >= 0.5),
        ),
    }
    figures = {
        name: {"published": f"{value:.6f}", "rule": {**sides, **rule}}
        for name, (rule, value) in rules.items()
    }
    lines = theirs(tmp_path, figures, topic=topics)
    assert {name: line.status for name, line in lines.items()} == dict.fromkeys(rules, "equal")
    for name, (_, value) in rules.items():
        assert lines[name].ours == pytest.approx(value, abs=1e-12)
    assert lines["above"].ours != lines["at"].ours
    assert all_agree(tuple(lines.values()))
    json.dumps([line.to_json() for line in lines.values()], allow_nan=False)


def test_a_rule_reads_scales_items_annotators_and_matrices(tmp_path: Path) -> None:
    """Clipped or not, joined or not, the mean of several people, one judge of many: as computed by
    hand.
    """
    label, score = (np.array(side) for side in zip(*GRADED, strict=True))
    grades = [0, 1, 2, 7, 2, 0, 0, 3, -1, 1]
    people: list[object] = [[int(y), int(y) + 1] for y in label]
    figures: dict[str, object] = {
        name: {"published": value, "rule": rule} for name, (value, rule) in ENTRIES["read"].items()
    }
    lines = theirs(
        tmp_path,
        figures,
        grade=list(grades),
        all=[{"a": grade, "b": 0} for grade in grades],
        claim=["x"] * 5 + ["y"] * 5,
        people=people,
        query=[f"q{i}" for i in range(2) for _ in range(5)],
    )
    clipped = np.clip(grades, 0, 3)
    assert lines["counts"].ours == (3, 2, 2, 1)
    assert lines["clipped counts"].ours == lines["ends"].ours == (4, 2, 2, 2)
    kappa = sk.cohen_kappa_score(label, clipped)
    assert [lines[name].ours for name in ("grades", "judge", "star")] == [pytest.approx(kappa)] * 3
    assert (lines["items"].ours, lines["items"].n) == (1.0, 2)
    mean = [float(np.mean([y, y + 1])) for y in label]
    assert lines["people"].ours == pytest.approx(spearmanr(mean, score).statistic)
    # The first of five by score has label 3, the highest there is; in the second query it has label
    # 1 of at most 3.
    assert lines["documents"].ours == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("name", ENTRIES["broken"])
def test_what_cannot_be_computed_costs_its_own_line(tmp_path: Path, name: str) -> None:
    """The reason stands in it, and the figure beside it is computed."""
    entry, reason = ENTRIES["broken"][name]
    broken, good = check(tmp_path, {name: entry, "f1": {"published": 0.7059}})
    assert (broken.status, broken.ours, broken.figure) == ("not computed", None, name)
    assert reason in broken.remark
    assert "\n" not in broken.remark
    assert good.status == "equal"
    assert all_agree((broken, good))
    assert not all_agree((broken,))
    orjson.dumps([broken.to_json(), good.to_json()])


@pytest.mark.parametrize(
    ("file", "reason"),
    [("gone.jsonl", "no such file"), ("a\0b.jsonl", "can be called"), ("broken.jsonl", "line 1")],
)
def test_a_file_that_cannot_be_read_costs_its_own_figures(
    tmp_path: Path, file: str, reason: str
) -> None:
    """One line a figure, and the other files are computed."""
    (tmp_path / "broken.jsonl").write_text("{")
    check(tmp_path, {})
    body = {file: {"f1": {"published": 0.5}}, "mine.jsonl": {"f1": {"published": 0.7059}}}
    (tmp_path / "expected.json").write_text(json.dumps(body))
    broken, good = check_expected(tmp_path / "expected.json", tmp_path)
    assert (broken.status, good.status) == ("not computed", "equal")
    assert reason in broken.remark


def test_our_rules_hold_for_the_files_they_name_alone(tmp_path: Path) -> None:
    """A file of another name with the same figures is another judge: nothing is said about it."""
    figures = {
        name: {"published": 0.5}
        for name in ("claim F1", "binary_F1", "kappa 4-point", "kappa 01|23")
    }
    for name in ("wice_mine.jsonl", "diras_mine.jsonl", "my_matrix.jsonl", "mtrag_mine.jsonl"):
        lines = check(tmp_path, dict(figures), name=name)
        assert [line.status for line in lines] == ["not computed"] * 4
        assert all(line.rule is None for line in lines)
    lines = check(
        tmp_path,
        {"a: kappa 4-point": {"published": 0.5}},
        name="llmjudge_test.verdicts_matrix_dev12.jsonl",
    )
    assert [line.rule for line in lines] == [None]


def test_every_shipped_rule_can_be_read() -> None:
    """Its keys fit each other."""
    sheets = shipped_rules()
    assert len(sheets) == 10
    for rules in sheets.values():
        for rule in rules.values():
            rule.columns()
    matrix = sheets["llmjudge_test.verdicts_matrix_dev12.jsonl"]
    assert matrix["trema-cot: alpha 0|123"].threshold == 1
    assert shipped_rule("theirs.jsonl", "precision") is None


def test_the_documents_name_every_key_of_a_rule() -> None:
    """Each with an example that is accepted."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "measuring.md").read_text(
        encoding="utf-8"
    )
    table = text.partition("| key | what it says | example |\n|---|---|---|\n")[2].partition(
        "\n\n"
    )[0]
    lines = [re.findall("`([^`]*)`", line) for line in table.splitlines()]
    named = {
        key for line in table.splitlines() for key in re.findall("`([^`]*)`", line.split("|")[1])
    }
    assert named == set(Rule.model_fields)
    for cells in lines:
        example = json.loads(cells[-1])
        assert Rule.model_validate({"metric": "f1", cells[0]: example}).model_fields_set
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    ((entry,),) = [figures.values() for figures in json.loads(example).values()]
    assert Rule(**entry["rule"]).columns().threshold == np.nextafter(0.5, 1)


@pytest.mark.parametrize("body", ["[1]", '{"a.jsonl": 3}', "{", ""])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, body: str) -> None:
    """With the shape it should have."""
    path = tmp_path / "expected.json"
    path.write_text(body)
    with pytest.raises(DataError, match="not a file of expectations"):
        read_expected(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_expected(tmp_path / "none.json")
