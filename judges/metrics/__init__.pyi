from .agreement import Formula, codes, confusion
from .benchmark import Benchmark, by_column, measure
from .calibration import (
    CALIBRATION_METRICS,
    calibration_intervals,
    ece,
    tally,
)
from .calibration_error import ece_by_chance, ece_interval
from .catalog import (
    BINARY_METRICS,
    CHOICE_METRICS,
    GRADE_METRICS,
    LOWER_IS_BETTER,
    METRICS,
    NO_ROWS,
    PAIRED_METRICS,
    Metric,
    is_metric,
)
from .correlation import correlations, kendall_tau
from .delta import (
    influence_se,
    left_out_se,
    mean_over_rows,
    mean_share,
    score_interval,
    share_interval,
)
from .estimate import Estimate, as_json
from .headline import headline_metrics
from .influence import cell_influence, influence, point
from .intervals import BLOCK, Cells, Interval, t_quantile, wilson
from .jackknife import jackknife, jackknife_intervals
from .macro_average import AVERAGED, macro_means
from .paired_comparison import clustered_se, compare, denominator, rows_needed
from .permutation_test import FEW_GROUPS, changed_groups, count_cells, permutation_p
from .ranking import (
    Ranking,
    mean_over_queries,
    ndcg,
    ranking_metrics,
)
from .rater_agreement import Level, alpha_of_tables, krippendorff_alpha
from .reliability_bins import reliability_bins
from .suites import NOMINAL, ORDINAL, QUERY_WORDS
from .table_intervals import formula_value, table_intervals, table_value

__all__ = [
    "AVERAGED",
    "BINARY_METRICS",
    "BLOCK",
    "CALIBRATION_METRICS",
    "CHOICE_METRICS",
    "FEW_GROUPS",
    "GRADE_METRICS",
    "LOWER_IS_BETTER",
    "METRICS",
    "NOMINAL",
    "NO_ROWS",
    "ORDINAL",
    "PAIRED_METRICS",
    "QUERY_WORDS",
    "Benchmark",
    "Cells",
    "Estimate",
    "Formula",
    "Interval",
    "Level",
    "Metric",
    "Ranking",
    "alpha_of_tables",
    "as_json",
    "by_column",
    "calibration_intervals",
    "cell_influence",
    "changed_groups",
    "clustered_se",
    "codes",
    "compare",
    "confusion",
    "correlations",
    "count_cells",
    "denominator",
    "ece",
    "ece_by_chance",
    "ece_interval",
    "formula_value",
    "headline_metrics",
    "influence",
    "influence_se",
    "is_metric",
    "jackknife",
    "jackknife_intervals",
    "kendall_tau",
    "krippendorff_alpha",
    "left_out_se",
    "macro_means",
    "mean_over_queries",
    "mean_over_rows",
    "mean_share",
    "measure",
    "ndcg",
    "permutation_p",
    "point",
    "ranking_metrics",
    "reliability_bins",
    "rows_needed",
    "score_interval",
    "share_interval",
    "t_quantile",
    "table_intervals",
    "table_value",
    "tally",
    "wilson",
]
