from .app import review_app
from .guards import HEADERS
from .rendering import Exact, open_templates

__all__ = ["HEADERS", "Exact", "open_templates", "review_app"]
