"""Where a judge is weak, honestly: slices with one error direction, confirmed on rows that did not choose them."""

from .audit import SliceAudit, apply_marks, audit_slice
from .find import FoundSlice, SliceReport, find_in_frame, find_slices
from .inspect_slice import MeasuredSlice, measure_slice, rows_in_slice
from .regression import Regression, RegressionReport, find_regressions
from .saved import SavedSlice, load_slice, read_slice, save_slice
from .slice import Predicate, parse_predicate
from .target_selection import choose_target

__all__ = [
    "FoundSlice",
    "MeasuredSlice",
    "Predicate",
    "Regression",
    "RegressionReport",
    "SavedSlice",
    "SliceAudit",
    "SliceReport",
    "apply_marks",
    "audit_slice",
    "choose_target",
    "find_in_frame",
    "find_regressions",
    "find_slices",
    "load_slice",
    "measure_slice",
    "parse_predicate",
    "read_slice",
    "rows_in_slice",
    "save_slice",
]
