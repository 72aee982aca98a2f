from .accept import HunkChoice, accept_hunks
from .calibrate import CalibrationRun, run_calibration
from .check_data import find_leaks
from .find_slices import UNGROUPED, Search, advise, group_by_input, search
from .flips import flips, flips_of, validation
from .gate import Asking, TwoJudges, gate_judges
from .gate_decision import GATED, HUNKS, Gated, Terms, decisions_about, gated_on, needed, verification
from .lineage import Node, lineage
from .optimize import RunResult, optimization, resume_run, start_run
from .pilot import assumed_judge, measure_churn, pilot_rows, reworded
from .plan import Plan, plan_run
from .recheck import recheck
from .run_result import NotAccepted, baseline, finding, identity, provenance, settle
from .verdict_pairs import pair_verdicts

__all__ = [
    "GATED",
    "HUNKS",
    "UNGROUPED",
    "Asking",
    "CalibrationRun",
    "Gated",
    "HunkChoice",
    "Node",
    "NotAccepted",
    "Plan",
    "RunResult",
    "Search",
    "Terms",
    "TwoJudges",
    "accept_hunks",
    "advise",
    "assumed_judge",
    "baseline",
    "decisions_about",
    "find_leaks",
    "finding",
    "flips",
    "flips_of",
    "gate_judges",
    "gated_on",
    "group_by_input",
    "identity",
    "lineage",
    "measure_churn",
    "needed",
    "optimization",
    "pair_verdicts",
    "pilot_rows",
    "plan_run",
    "provenance",
    "recheck",
    "resume_run",
    "reworded",
    "run_calibration",
    "search",
    "settle",
    "start_run",
    "validation",
    "verification",
]
