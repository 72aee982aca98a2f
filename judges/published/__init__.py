"""What others published: figures shipped as data, and the recipes by which they are computed again."""

from .expected import STATUSES, Line, check_expected
from .figures import PublishedRow, load_published

__all__ = [
    "STATUSES",
    "Line",
    "PublishedRow",
    "check_expected",
    "load_published",
]
