from .diras import DIRAS, diras
from .expected import STATUSES, Line, all_agree, check_expected, read_expected
from .figures import PublishedRow, load_published
from .rules import Rule, shipped_rule

__all__ = [
    "DIRAS",
    "STATUSES",
    "Line",
    "PublishedRow",
    "Rule",
    "all_agree",
    "check_expected",
    "diras",
    "load_published",
    "read_expected",
    "shipped_rule",
]
