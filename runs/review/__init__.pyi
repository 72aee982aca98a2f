from .app import review_app
from .guards import HEADERS

__all__ = ["HEADERS", "review_app"]
