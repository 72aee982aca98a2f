from .demonstrations import (
    PEOPLE,
    Demonstration,
    demonstrate,
    human_grade,
    list_demonstrations,
    pool,
)
from .dspy_adapter import ROW, VERSION, Search, load_dspy
from .fewshot import FewShot, tuning_rows
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
    "PEOPLE",
    "ROW",
    "VERSION",
    "Ask",
    "Demonstration",
    "FewShot",
    "Gepa",
    "HumanEdit",
    "Mipro",
    "NoProposal",
    "Part",
    "Proposal",
    "Proposer",
    "Rewrite",
    "Search",
    "StepBound",
    "TextGrad",
    "Trial",
    "Unanswered",
    "Workbench",
    "constraints",
    "demonstrate",
    "human_grade",
    "list_demonstrations",
    "load_dspy",
    "pool",
    "read_tagged",
    "show_prompt",
    "tuning_rows",
]
