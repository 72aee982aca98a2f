"""How well a judge agrees with people: metrics from cells, their intervals, and each row's influence."""

from .agreement import BINARY_METRICS, GRADE_METRICS, PROPORTIONS, confusion
from .calibration import CALIBRATION_METRICS, auroc, average_precision, brier, ece
from .estimate import Estimate
from .influence import influence, point
from .intervals import Cells, bootstrap, percentile_interval, wilson

__all__ = [
    "BINARY_METRICS",
    "CALIBRATION_METRICS",
    "GRADE_METRICS",
    "PROPORTIONS",
    "Cells",
    "Estimate",
    "auroc",
    "average_precision",
    "bootstrap",
    "brier",
    "confusion",
    "ece",
    "influence",
    "percentile_interval",
    "point",
    "wilson",
]
