from .demonstrations import (
    PEOPLE,
    Demonstration,
    demonstrate,
    human_grade,
    list_demonstrations,
    pool,
)
from .dspy_kit import ROW, VERSION, load_dspy
from .dspy_run import metric, refuse_names, row_example, run_search
from .dspy_search import Search, prompt_from
from .fewshot import FewShot, tuning_rows
from .gepa import Gepa
from .guidelines import Guidelines, rows_with_reasons
from .human import HumanEdit
from .mipro import Mipro
from .prompt_parts import PARTS, Part, constraints, show_prompt
from .proposer import NoProposal, Proposal, Proposer, StepBound
from .reasons import check_reply, with_reasons
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
    "Guidelines",
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
    "check_reply",
    "constraints",
    "demonstrate",
    "human_grade",
    "list_demonstrations",
    "load_dspy",
    "metric",
    "pool",
    "prompt_from",
    "read_tagged",
    "refuse_names",
    "row_example",
    "rows_with_reasons",
    "run_search",
    "show_prompt",
    "tuning_rows",
    "with_reasons",
]
