from .app import review_app
from .evidence import gate_sentences
from .guards import HEADERS
from .jobs import Done, JobRunner, Piece
from .rendering import Exact, open_templates

__all__ = [
    "HEADERS",
    "Done",
    "Exact",
    "JobRunner",
    "Piece",
    "gate_sentences",
    "open_templates",
    "review_app",
]
