"""How well a judge agrees with people: metrics with their intervals and n, and each row's influence."""

from .agreement import BINARY_METRICS, CHOICE_METRICS, GRADE_METRICS, PROPORTIONS, confusion
from .calibration import CALIBRATION_METRICS, auroc, average_precision, brier, ece
from .correlation import correlations, kendall_tau, pearson, spearman
from .delta import mean_share
from .descriptions import LOWER_IS_BETTER, metric_meaning
from .diras import DIRAS_METRICS, RelevanceRows, diras
from .estimate import Estimate
from .influence import cell_influence, influence, point
from .intervals import Cells, bootstrap, percentile_interval, wilson
from .ranking import Ranking, mean_over_queries, ndcg, ranking_metrics
from .rater_agreement import fleiss_kappa, krippendorff_alpha
from .text_similarity import anls, answer_similarity

__all__ = [
    "BINARY_METRICS",
    "CALIBRATION_METRICS",
    "CHOICE_METRICS",
    "DIRAS_METRICS",
    "GRADE_METRICS",
    "LOWER_IS_BETTER",
    "PROPORTIONS",
    "Cells",
    "Estimate",
    "Ranking",
    "RelevanceRows",
    "anls",
    "answer_similarity",
    "auroc",
    "average_precision",
    "bootstrap",
    "brier",
    "cell_influence",
    "confusion",
    "correlations",
    "diras",
    "ece",
    "fleiss_kappa",
    "influence",
    "kendall_tau",
    "krippendorff_alpha",
    "mean_over_queries",
    "mean_share",
    "metric_meaning",
    "ndcg",
    "pearson",
    "percentile_interval",
    "point",
    "ranking_metrics",
    "spearman",
    "wilson",
]
