from .accept import HunkChoice, NotAccepted, accept_hunks, identity, record_review
from .calibrate import CalibrationRun, run_calibration
from .check_data import find_leaks
from .decide import GATED, HUNKS, Gated, GateModel, Terms
from .detectable_gain import assumed_judge
from .find_slices import Search, advise, search
from .flips import both_sides, flips_of
from .gate import TwoJudges, gate_again, gate_judges
from .labels_needed import needed
from .lineage import Node, lineage
from .optimize import RunResult, resume_run, start_run
from .plan import Plan, plan_run
from .run_summary import CostSummary, RunSummary, baseline, read_optimization, read_run
from .verdict_pairs import pair_verdicts
from .verification import decisions_about, gated_on, provenance, verification

__all__ = [
    "GATED",
    "HUNKS",
    "CalibrationRun",
    "CostSummary",
    "GateModel",
    "Gated",
    "HunkChoice",
    "Node",
    "NotAccepted",
    "Plan",
    "RunResult",
    "RunSummary",
    "Search",
    "Terms",
    "TwoJudges",
    "accept_hunks",
    "advise",
    "assumed_judge",
    "baseline",
    "both_sides",
    "decisions_about",
    "find_leaks",
    "flips_of",
    "gate_again",
    "gate_judges",
    "gated_on",
    "identity",
    "lineage",
    "needed",
    "pair_verdicts",
    "plan_run",
    "provenance",
    "read_optimization",
    "read_run",
    "record_review",
    "resume_run",
    "run_calibration",
    "search",
    "start_run",
    "verification",
]
