"""What writes a better prompt: the seam, and one file for each way of doing it."""

from .fewshot import FewShot
from .gepa import Gepa
from .human import HumanEdit
from .mipro import Mipro
from .proposer import PARTS, Attempt, NoProposal, Part, Proposal, Proposer
from .rewrite import Rewrite
from .textgrad import TextGrad
from .workbench import Ask, Trial, Unanswered, Workbench

__all__ = [
    "PARTS",
    "Ask",
    "Attempt",
    "FewShot",
    "Gepa",
    "HumanEdit",
    "Mipro",
    "NoProposal",
    "Part",
    "Proposal",
    "Proposer",
    "Rewrite",
    "TextGrad",
    "Trial",
    "Unanswered",
    "Workbench",
]
