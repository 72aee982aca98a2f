from .belief import Belief
from .brief import BUDGET, Brief, build_brief
from .cells import column_values, count_cells, label_doubts
from .chance import Chance, chance_of
from .changes import Changes
from .contenders import Search
from .context import RunContext, Services, judge_rows, open_rows
from .forecast import (
    ASKED_AGAIN,
    Asked,
    PlannedRun,
    bound_run,
)
from .goal import Goal, Target
from .goal_setting import choose_target, construct_loss, find_target
from .holdout.decision_record import Decision
from .holdout.gate import decide, gate
from .holdout.guards import GuardResult
from .holdout.ledger import Ledger, Look
from .hunks import compose, cut_sentences, split_hunks
from .invariants import PhraseIndex, Violation, check_candidate
from .journal import VOLATILE, Event, Journal, first_difference
from .loop import Outcome, benchmark, decide_on_holdout, optimize, search, split_rows
from .losses.axioms import check_axioms
from .losses.costs import cost_table
from .losses.expression import Expression, compile_expression
from .losses.loss import Loss, default_loss, parse_loss, row_losses, write_loss
from .losses.objective import Floor, Guard, Objective
from .losses.reading import ModelReading, read_by_model
from .losses.settling import ObjectiveWords, Unsettled, read_objective
from .minibatch import minibatch
from .outcome import BY_GATE, RUN_OUTCOMES, GateOutcome, RunOutcome, exit_code
from .proposers.cases import ShowCases
from .proposers.gepa import Gepa
from .proposers.human import HumanEdit
from .proposers.mipro import Mipro
from .proposers.prompt_parts import PARTS, Part
from .proposers.proposer import NoProposal, Proposal, Proposer, View
from .proposers.rewrite import Rewrite
from .proposers.textgrad import TextGrad
from .proposers.workbench import Trial, Unanswered, Workbench
from .settings import RunSettings
from .step import Branch, Step
from .study import Study
from .survivor import Survivor, choose_survivor
from .threshold import ChosenThreshold, NoThreshold, choose_threshold
from .word_diff import Piece, diff_prompts, diff_words, prompt_parts

__all__ = [
    "ASKED_AGAIN",
    "BUDGET",
    "BY_GATE",
    "PARTS",
    "RUN_OUTCOMES",
    "VOLATILE",
    "Asked",
    "Belief",
    "Branch",
    "Brief",
    "Chance",
    "Changes",
    "ChosenThreshold",
    "Decision",
    "Event",
    "Expression",
    "Floor",
    "GateOutcome",
    "Gepa",
    "Goal",
    "Guard",
    "GuardResult",
    "HumanEdit",
    "Journal",
    "Ledger",
    "Look",
    "Loss",
    "Mipro",
    "ModelReading",
    "NoProposal",
    "NoThreshold",
    "Objective",
    "ObjectiveWords",
    "Outcome",
    "Part",
    "PhraseIndex",
    "Piece",
    "PlannedRun",
    "Proposal",
    "Proposer",
    "Rewrite",
    "RunContext",
    "RunOutcome",
    "RunSettings",
    "Search",
    "Services",
    "ShowCases",
    "Step",
    "Study",
    "Survivor",
    "Target",
    "TextGrad",
    "Trial",
    "Unanswered",
    "Unsettled",
    "View",
    "Violation",
    "Workbench",
    "benchmark",
    "bound_run",
    "build_brief",
    "chance_of",
    "check_axioms",
    "check_candidate",
    "choose_survivor",
    "choose_target",
    "choose_threshold",
    "column_values",
    "compile_expression",
    "compose",
    "construct_loss",
    "cost_table",
    "count_cells",
    "cut_sentences",
    "decide",
    "decide_on_holdout",
    "default_loss",
    "diff_prompts",
    "diff_words",
    "exit_code",
    "find_target",
    "first_difference",
    "gate",
    "judge_rows",
    "label_doubts",
    "minibatch",
    "open_rows",
    "optimize",
    "parse_loss",
    "prompt_parts",
    "read_by_model",
    "read_objective",
    "row_losses",
    "search",
    "split_hunks",
    "split_rows",
    "write_loss",
]
