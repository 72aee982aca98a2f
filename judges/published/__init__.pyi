from .expected import STATUSES, Line, all_agree, check_expected, read_expected
from .figures import PublishedRow, load_published
from .rules import Rule, read_rule, shipped_rule

__all__ = [
    "STATUSES",
    "Line",
    "PublishedRow",
    "Rule",
    "all_agree",
    "check_expected",
    "load_published",
    "read_expected",
    "read_rule",
    "shipped_rule",
]
