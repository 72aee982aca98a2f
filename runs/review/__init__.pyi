from .app import review_app
from .guards import HEADERS
from .jobs import Done, Job, JobRunner
from .rendering import Exact, open_templates

__all__ = [
    "HEADERS",
    "Done",
    "Exact",
    "Job",
    "JobRunner",
    "open_templates",
    "review_app",
]
