"""Where a judge is weak, honestly: slices with one error direction, confirmed on rows that did not choose them."""

from .find import FoundSlice, SliceReport, choose_target, find_in_frame, find_slices
from .slice import Predicate, parse_predicate

__all__ = ["FoundSlice", "Predicate", "SliceReport", "choose_target", "find_in_frame", "find_slices", "parse_predicate"]
