from .cases import ShowCases
from .dspy_adapter import ROW, VERSION, Search, load_dspy, tuning_rows
from .gepa import Gepa
from .human import HumanEdit
from .mipro import Mipro
from .prompt_parts import PARTS, Part, constraints, show_prompt
from .proposer import NoProposal, Proposal, Proposer, StepBound
from .rewrite import Rewrite
from .textgrad import TextGrad
from .texts import read_tagged
from .workbench import Ask, Trial, Unanswered, Workbench

__all__ = [
    "PARTS",
    "ROW",
    "VERSION",
    "Ask",
    "Gepa",
    "HumanEdit",
    "Mipro",
    "NoProposal",
    "Part",
    "Proposal",
    "Proposer",
    "Rewrite",
    "Search",
    "ShowCases",
    "StepBound",
    "TextGrad",
    "Trial",
    "Unanswered",
    "Workbench",
    "constraints",
    "load_dspy",
    "read_tagged",
    "show_prompt",
    "tuning_rows",
]
