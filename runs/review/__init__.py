"""The review page: what a run found, for people, with the forms to decide about it. A reader of the journal."""

from .app import review_app

__all__ = ["review_app"]
