"""What judges said is no column to slice by: which columns that is, how it is known, and where it
is shown instead.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgewright.judges import (
    JudgedDataset,
    OutputScale,
    Scalar,
    Verdict,
    load_verdicts,
)
from judgewright.slices import (
    bins_reason,
    find_in_frame,
    find_slices,
    names_an_output,
    parse_predicate,
    read_features,
)

from ..judged_tables import judged_table

OUTPUTS = """
confidence confidence_bin confidence_token judge_confidence gpt4_confidence llama3Score score score_bin score_1 scores
gpt4_score metadata.gpt4_score verdict claude_verdict verdicts.gpt4 predictions.model_b p.probability
avg_logprob prediction predicted stated_confidence_decile judge_model rl_f raw_guess confidence_ask
confidence_second_run other_detectors.minicheck evaluators.hhem
"""  # noqa: E501
NO_OUTPUTS = """
confidence_of_source score_type dataset channel source_words dense_rank_bin passage_len_bin overlap_bin turn_bin model
scoreboard underscore question_type predicate_count label_score human_score probability_theory
"""  # noqa: E501


@pytest.mark.parametrize("name", OUTPUTS.split())
def test_names_of_outputs_are_known(name: str) -> None:
    """The last word counts, behind words such as bin; so does an object of that name."""
    assert names_an_output(name)


@pytest.mark.parametrize("name", NO_OUTPUTS.split())
def test_names_of_rows_own_columns_are_not_taken_for_outputs(name: str) -> None:
    """A word in the middle says nothing, a bin of something else neither, and a person's score is a
    label.
    """
    assert not names_an_output(name)


def unsure(
    n: int = 4000, seed: int = 0
) -> tuple[list[dict[str, Scalar]], np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose judge errs where it is unsure, and nowhere else more than elsewhere."""
    rng = np.random.default_rng(seed)
    label, confidence = rng.random(n) < 0.5, np.round(rng.uniform(0.5, 1.0, n), 3)
    said = np.where(rng.random(n) < confidence, label, ~label)
    columns: list[dict[str, Scalar]] = [
        {"kind": str(kind), "score_type": str(kind * 2), "confidence_of_source": float(source)}
        for kind, source in zip(rng.choice(["a", "b"], n), np.round(rng.random(n), 2), strict=True)
    ]
    return columns, label, said, confidence


def table(
    columns: list[dict[str, Scalar]], label: np.ndarray, said: np.ndarray, confidence: np.ndarray
) -> JudgedDataset:
    """A binary table with stated confidences."""
    return judged_table(label, said, columns=columns, confidence=confidence)


def test_a_judges_confidence_is_shown_as_calibration_and_never_searched() -> None:
    """Whatever its bins are called: what cuts the judge's confidence into ranges is seen in the
    data.
    """
    columns, label, said, confidence = unsure()
    tiers = [
        {**meta, "tier": "low" if c < 0.7 else "high"}
        for meta, c in zip(columns, confidence, strict=True)
    ]
    named = [
        {**meta, "gpt4_confidence": c} for meta, c in zip(tiers, confidence.tolist(), strict=True)
    ]
    report = find_slices(table(named, label, said, confidence), metric="precision")
    assert not {"tier", "gpt4_confidence"} & {
        c for found in report.slices for c in found.predicate.columns
    }
    assert "ranges of this judge's confidence" in report.left_out["tier"]
    own = next(output for output in report.judge_outputs if output.column == "judge.confidence")
    values = [level.value.value for level in own.levels]
    assert values == sorted(values)
    assert values[0] is not None
    assert values[0] < 0.6 < 0.9 < (values[-1] or 0)
    assert sum(level.value.n for level in own.levels) == int(said.sum())
    for level in own.levels:
        inside = parse_predicate(
            str(level.predicate).replace("judge.confidence", "gpt4_confidence")
        )
        member = inside.mask(table(named, label, said, confidence).rows) & said
        assert level.value.value == pytest.approx(label[member].mean())
    assert report.to_json()["judge_outputs"][0]["levels"][0].keys() >= {
        "predicate",
        "value",
        "low",
        "high",
        "n",
    }
    assert "calibration, not a cause" in report._repr_html_()
    honest = {"score_type", "confidence_of_source"}
    assert not honest & report.left_out.keys() - {"score_type"}
    assert "exactly as 'kind'" in report.left_out["score_type"]


def test_only_names_can_be_taken_back_and_every_column_is_told_of() -> None:
    """A name is a guess, so --keep lifts it, and a note says so; what the data show stands."""
    columns, label, said, confidence = unsure()
    rng = np.random.default_rng(1)
    named: list[dict[str, Scalar]] = [
        {**meta, "bm25_score": round(float(x), 2), "tier": bool(c < 0.8)}
        for meta, x, c in zip(columns, rng.random(len(label)), confidence, strict=True)
    ]
    judged = table(named, label, said, confidence)
    plain = read_features(judged)
    assert "--keep COLUMN" in plain.left_out["bm25_score"]
    assert plain.notes == (
        (
            "left out for their names alone, as what people or judges said of a row: bm25_score;"
            " one that tells of the row itself is searched with --keep bm25_score"
        ),
    )
    kept = read_features(judged, keep=["bm25_score", "tier"])
    assert "bm25_score" in {column.name for column in kept.columns}
    assert "tier" in kept.left_out
    assert kept.notes == ()
    assert find_slices(judged, keep=["bm25_score"]).left_out.keys() & {"bm25_score", "tier"} == {
        "tier"
    }


def test_bins_that_overlap_or_lie_apart_are_no_bins_of_the_confidence() -> None:
    """One row out of place, or the same value at both ends, and it is a column like any other."""
    confidence = np.linspace(0.5, 1.0, 200)
    low = (confidence < 0.7).astype(np.int64)
    assert bins_reason(low, {"confidence": confidence})
    moved = low.copy()
    moved[150] = 1
    assert bins_reason(moved, {"confidence": confidence}) is None
    ends = ((confidence < 0.6) | (confidence > 0.9)).astype(np.int64)
    assert bins_reason(ends, {"confidence": confidence}) is None
    assert bins_reason(low[:20], {"confidence": confidence[:20]}) is None


def test_what_bench_wrote_and_judges_beside_the_score_are_known_for_outputs(tmp_path: Path) -> None:
    """The file says so, however the columns are called, and no --keep takes it back; a column of
    the row stays.
    """
    rng = np.random.default_rng(2)
    lines = []
    for i in range(300):
        label, a, b = (int(x) for x in rng.integers(0, 2, 3))
        lines.append(
            {
                "id": str(i),
                "label": label,
                "ask_a": a,
                "ask_b": b,
                "ask_turns": int(rng.integers(0, 9)),
            }
        )
    path = tmp_path / "matrix.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    judged = load_verdicts(path, score="ask_a")
    assert judged.outputs == ("ask_b",)
    report = find_slices(judged, metric="accuracy", keep=["ask_b"])
    assert "beside the score" in report.left_out["ask_b"]
    assert "ask_b" in {output.column for output in report.judge_outputs}
    assert "ask_turns" not in report.left_out
    bench = [
        {
            "id": line["id"],
            "judge": "j",
            "judge_model": "m",
            "simulated": False,
            "label": line["label"],
        }
        | {
            "verdict": line["ask_a"],
            "score": line["ask_a"] * 3,
            "confidence": 0.9,
            "metadata": {"score": i % 7},
        }
        for i, line in enumerate(lines)
    ]
    path.write_text("\n".join(map(json.dumps, bench)), encoding="utf-8")
    assert load_verdicts(path, score="verdict").outputs == ("score", "confidence")
    assert load_verdicts(path, score="score").outputs == ("verdict", "confidence")


def test_a_frame_of_verdicts_is_not_sliced_by_its_score_and_confidence() -> None:
    """The columns of `Judged.to_frame()` among them."""
    columns, label, said, confidence = unsure()
    frame = (
        table(columns, label, said, confidence)
        .to_frame()
        .drop(columns=["id", "group", "positive", "unscored"])
    )
    frame["label"] = frame["label"] == 1
    report = find_in_frame(frame, metric="accuracy")
    assert {"score", "confidence"} <= {
        output.column for output in report.judge_outputs
    } | report.left_out.keys()
    assert not {"score", "confidence"} & {
        c for found in report.slices for c in found.predicate.columns
    }
    graded = pd.DataFrame({"label": label, "predicted": said, "rating_score": confidence})
    assert (
        "rating_score"
        in find_in_frame(graded, keep=["rating_score"], metric="accuracy")
        .slices[0]
        .predicate.columns
    )


def test_grades_are_calibration_where_the_metric_can_be_read_at_them() -> None:
    """Precision at each grade is; recall, which is 0 below the threshold and 1 above it, is not."""
    columns, label, _, confidence = unsure(1000)
    grades = np.random.default_rng(3).integers(0, 4, 1000)
    scale = OutputScale()
    rows = table(columns, label, grades >= 2, confidence)
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(g), positive=scale.positive(float(g)))
        for i, g in enumerate(grades)
    )
    judged = JudgedDataset(dataset=rows.dataset, answers=answers, scale=scale)
    (score,) = find_slices(judged, metric="precision").judge_outputs
    assert [str(level.predicate) for level in score.levels] == [
        "judge.score = 2",
        "judge.score = 3",
    ]
    assert find_slices(judged, metric="recall").judge_outputs == ()
