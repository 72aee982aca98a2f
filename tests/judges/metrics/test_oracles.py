"""Every case of oracles.json that names a metric we have, computed elsewhere by scikit-learn and statsmodels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgewright.judges.metrics import agreement, calibration
from judgewright.judges.metrics.intervals import wilson

ORACLES = Path(__file__).resolve().parents[3] / "../shared/data/oracles.json"
Inputs = dict[str, Any]  # Any: JSON as the file has it


def _agreement(name: str) -> Callable[[Inputs], float | None]:
    def compute(inputs: Inputs) -> float | None:
        table = agreement.confusion(inputs["gold"], inputs["pred"], inputs.get("labels", (0, 1)))
        value, reason = agreement.point(name, table)
        assert not reason or value == 0
        return value

    return compute


def _calibration(function: Callable[..., Any], **options: str) -> Callable[[Inputs], float]:
    def compute(inputs: Inputs) -> float:
        bins = {"bins": inputs["bins"]} if "bins" in inputs else {}
        return float(function(np.array(inputs["gold"], np.bool_), np.array(inputs["score"]), **bins, **options))

    return compute


COMPUTE: dict[str, list[Callable[[Inputs], float | None]]] = {
    **{name: [_agreement(name)] for name in agreement.BINARY_METRICS},
    "weighted_kappa_linear": [_agreement("kappa_linear")],
    "weighted_kappa_quadratic": [_agreement("kappa_quadratic")],
    "off_by_one": [_agreement("off_by_one")],
    "mae": [_agreement("mae")],
    "auroc": [_calibration(calibration.auroc)],
    "average_precision": [_calibration(calibration.average_precision)],
    "brier": [_calibration(calibration.brier)],
    "ece_uniform": [
        _calibration(calibration.ece, edges="linspace"),
        _calibration(calibration.ece, edges="tenths"),
    ],
}


def _cases() -> list[Any]:
    if not ORACLES.exists():
        return [
            pytest.param(None, marks=pytest.mark.skip(reason="shared/data/oracles.json is not beside the checkout"))
        ]
    cases = json.loads(ORACLES.read_text(encoding="utf-8"))["cases"]
    ours = {*COMPUTE, "kappa_with_se", "proportion_ci"}
    return [pytest.param(case, id=case["id"]) for case in cases if case["metric"] in ours]


@pytest.mark.parametrize("case", _cases())
def test_a_published_oracle_case_is_reproduced(case: Inputs) -> None:
    """Each metric equals the independent implementation within the case's own tolerance."""
    inputs, expected, tol = case["inputs"], case["expected"], case["tol"]
    if case["metric"] == "kappa_with_se":
        assert agreement.point("kappa", np.array(inputs["table"]))[0] == pytest.approx(expected["kappa"], abs=tol)
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
    assert set(COMPUTE) - present == {"specificity"}
