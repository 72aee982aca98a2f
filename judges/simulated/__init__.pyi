from .chat import read_request
from .decision_server import DecisionService
from .faults import Faults
from .fields import pair_of
from .model import Simulated
from .rules import Side, TaskName, bell, load_rules
from .serve import Server, make_app
from .text import FEATURES, Reader

__all__ = [
    "FEATURES",
    "DecisionService",
    "Faults",
    "Reader",
    "Server",
    "Side",
    "Simulated",
    "TaskName",
    "bell",
    "load_rules",
    "make_app",
    "pair_of",
    "read_request",
]
