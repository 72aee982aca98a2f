"""Every case of oracles.json that names a metric we have, computed elsewhere by seven libraries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgewright.judges.metrics import (
    BINARY_METRICS,
    METRICS,
    Level,
    Ranking,
    agreement,
    calibration_intervals,
    correlations,
    krippendorff_alpha,
    mean_over_queries,
    ndcg,
    table_value,
    wilson,
)
from judgewright.judges.metrics.ranking import average_precision

from ...judged_tables import ranking_of_run

ORACLES = Path(__file__).resolve().parents[3] / "../shared/data/oracles.json"
Inputs = dict[str, Any]  # Any: JSON as the file has it
WITHOUT_ORACLE = {"specificity"}
"""Metrics of decisions that no case names; `test_agreement.py` compares them with scikit-learn."""


def _agreement(name: str) -> Callable[[Inputs], float | None]:
    def compute(inputs: Inputs) -> float | None:
        table = agreement.confusion(inputs["gold"], inputs["pred"], inputs.get("labels", (0, 1)))
        value, reason = table_value(name, table)
        if reason == METRICS[name].undefined and METRICS[name].zero_if_undefined:
            return 0.0  # the case was computed with zero_division=0
        return value

    return compute


def _calibration(name: str) -> Callable[[Inputs], float | None]:
    return lambda inputs: calibration_intervals(
        np.array(inputs["gold"], np.bool_), np.array(inputs["score"], np.float64), None
    )[name][0]


def _classes(function: agreement.Metric) -> Callable[[Inputs], float]:
    return lambda inputs: float(
        function(agreement.confusion(inputs["gold"], inputs["pred"], inputs["labels"]))
    )


def _correlation(name: str) -> Callable[[Inputs], float | None]:
    return lambda inputs: correlations(inputs["x"], inputs["y"])[name].value


def _alpha(level: Level) -> Callable[[Inputs], float | None]:
    return lambda inputs: krippendorff_alpha(inputs["ratings"], level).value


def _by_query(
    function: Callable[..., Any], *args: int, **options: Any
) -> Callable[[Inputs], dict[str, float]]:
    def compute(inputs: Inputs) -> dict[str, float]:
        ranking = ranking_of_run(inputs["qrels"], inputs["run"])
        return dict(zip(inputs["qrels"], function(ranking, *args, **options).tolist(), strict=True))

    return compute


def _map(inputs: Inputs) -> float | None:
    ranking = ranking_of_run(inputs["qrels"], inputs["run"])
    return mean_over_queries(average_precision(ranking), ranking, ranking.relevant(1)).value


def _one_query(inputs: Inputs) -> float:
    gains = np.array(inputs["gains"], np.float64)
    return float(
        ndcg(
            Ranking(
                query=np.zeros(len(gains), np.int64), grade=gains, score=np.array(inputs["score"])
            )
        )[0]
    )


COMPUTE: dict[str, list[Callable[[Inputs], float | dict[str, float] | None]]] = {
    **{name: [_agreement(name)] for name in BINARY_METRICS},
    "weighted_kappa_linear": [_agreement("kappa_linear")],
    "weighted_kappa_quadratic": [_agreement("kappa_quadratic")],
    "off_by_one": [_agreement("off_by_one")],
    "mae": [_agreement("mae")],
    **{name: [_calibration(name)] for name in ("auroc", "average_precision", "brier")},
    "ece_uniform": [_calibration("ece")],
    "macro_f1": [_classes(agreement.f1_macro)],
    "pearson": [_correlation("pearson")],
    "spearman": [_correlation("spearman")],
    "kendall_tau_b": [_correlation("kendall_tau")],
    "krippendorff_alpha_nominal": [_alpha("nominal")],
    "krippendorff_alpha_ordinal": [_alpha("ordinal")],
    **{f"ndcg_linear@{k}": [_by_query(ndcg, k)] for k in (3, 5, 10)},
    **{f"ndcg_exp@{k}": [_by_query(ndcg, k, gain="exponential")] for k in (3, 5, 10)},
    "ndcg_linear_all": [_one_query],
    "ndcg_linear_all_tied": [_one_query],
    "average_precision_ranking": [_by_query(average_precision)],
    "average_precision_ranking_rel2": [_by_query(average_precision, threshold=2)],
    "map": [_map],
}


def _cases() -> list[Any]:
    if not ORACLES.exists():
        return [
            pytest.param(
                None,
                marks=pytest.mark.skip(
                    reason="shared/data/oracles.json is not beside the checkout"
                ),
            )
        ]
    cases = json.loads(ORACLES.read_text(encoding="utf-8"))["cases"]
    ours = {*COMPUTE, "kappa_with_se", "proportion_ci"}
    ours_alone = [c for c in cases if c["metric"] in ours and c["inputs"].get("bins", 10) == 10]
    return [pytest.param(case, id=case["id"]) for case in ours_alone]


@pytest.mark.parametrize("case", _cases())
def test_a_published_oracle_case_is_reproduced(case: Inputs) -> None:
    """Each metric equals the independent implementation within the case's own tolerance."""
    inputs, expected, tol = case["inputs"], case["expected"], case["tol"]
    if case["metric"] == "kappa_with_se":
        assert table_value("kappa", np.array(inputs["table"]))[0] == pytest.approx(
            expected["kappa"], abs=tol
        )
    elif case["metric"] == "proportion_ci":
        assert wilson(inputs["k"], inputs["n"]) == pytest.approx(tuple(expected["wilson"]), abs=tol)
    else:
        for compute in COMPUTE[case["metric"]]:
            assert compute(inputs) == pytest.approx(expected, abs=tol)


def test_the_cases_cover_every_metric_we_have() -> None:
    """No metric of ours is left without an oracle, so a renamed case cannot slip away unseen."""
    if not ORACLES.exists():
        pytest.skip("shared/data/oracles.json is not beside the checkout")
    present = {case["metric"] for case in json.loads(ORACLES.read_text(encoding="utf-8"))["cases"]}
    assert set(COMPUTE) - present == WITHOUT_ORACLE
