from .by_rate import find_by_rate
from .candidates import Rows
from .column import MAX_VALUES, encode, readable_edges
from .column_names import convention_reason, names_an_output
from .confusion import ConfusedPair, confused_pairs, find_confusions
from .consistency import Consistency
from .effect import Cells, Parts, decompose, expected_gain
from .features import read_features
from .find import find_in_frame, find_slices, search_slices
from .inspect_slice import MeasuredSlice, measure_slice, members, rows_in_slice
from .leaks import bins_reason, leak_reason, uncertainty_coefficient
from .limits import Limits
from .outcomes import Outcomes
from .regression import Regression, find_regressions, sign_flip_tail
from .saved import SavedSlice, load_saved_slice, read_slice, save_slice
from .search import propose
from .search_result import FoundSlice, SliceReport
from .significance import compare, one_direction, rows_to_find, share_interval
from .slice import Contains, Equals, Interval, Missing, Predicate, parse_predicate, text_of
from .target import TARGETS, of_bad_share, target_of
from .text import Columns, feature_names, feature_rank, is_column, read_columns
from .tokens import LIKELY, LikelyWords, read_vocabulary

__all__ = [
    "LIKELY",
    "MAX_VALUES",
    "TARGETS",
    "Cells",
    "Columns",
    "ConfusedPair",
    "Consistency",
    "Contains",
    "Equals",
    "FoundSlice",
    "Interval",
    "LikelyWords",
    "Limits",
    "MeasuredSlice",
    "Missing",
    "Outcomes",
    "Parts",
    "Predicate",
    "Regression",
    "Rows",
    "SavedSlice",
    "SliceReport",
    "bins_reason",
    "compare",
    "confused_pairs",
    "convention_reason",
    "decompose",
    "encode",
    "expected_gain",
    "feature_names",
    "feature_rank",
    "find_by_rate",
    "find_confusions",
    "find_in_frame",
    "find_regressions",
    "find_slices",
    "is_column",
    "leak_reason",
    "load_saved_slice",
    "measure_slice",
    "members",
    "names_an_output",
    "of_bad_share",
    "one_direction",
    "parse_predicate",
    "propose",
    "read_columns",
    "read_features",
    "read_slice",
    "read_vocabulary",
    "readable_edges",
    "rows_in_slice",
    "rows_to_find",
    "save_slice",
    "search_slices",
    "share_interval",
    "sign_flip_tail",
    "target_of",
    "text_of",
    "uncertainty_coefficient",
]
