"""What others published: figures shipped as data, and the rules by which they are computed again."""

from .expected import STATUSES, Line, all_agree, check_expected
from .figures import PublishedRow, load_published

__all__ = [
    "STATUSES",
    "Line",
    "PublishedRow",
    "all_agree",
    "check_expected",
    "load_published",
]
