"""How a prompt gets better, and whether it did. Open `loop` first: `optimize` names the steps."""

from .context import Goal, RunSettings, Services, Target, open_rows
from .critique import Critique, critique_batch, minibatch
from .holdout.decision import Decision
from .holdout.gate import decide, gate
from .holdout.guards import GuardResult
from .holdout.ledger import Ledger, Look, MemoryLedger
from .invariants import PhraseIndex, Violation, check_candidate
from .journal import Event, Journal, MemoryJournal
from .loop import Outcome, optimize
from .losses.axioms import check_axioms, cost_table
from .losses.expression import Expression, compile_expression
from .losses.loss import Loss, default_loss, parse_loss, row_losses, write_loss
from .losses.objective import Guard, Objective, read_objective
from .proposers import (
    PARTS,
    Attempt,
    FewShot,
    Gepa,
    HumanEdit,
    Mipro,
    NoProposal,
    Part,
    Proposal,
    Proposer,
    Rewrite,
    TextGrad,
    Trial,
    Unanswered,
    Workbench,
)

__all__ = [
    "PARTS",
    "Attempt",
    "Critique",
    "Decision",
    "Event",
    "Expression",
    "FewShot",
    "Gepa",
    "Goal",
    "Guard",
    "GuardResult",
    "HumanEdit",
    "Journal",
    "Ledger",
    "Look",
    "Loss",
    "MemoryJournal",
    "MemoryLedger",
    "Mipro",
    "NoProposal",
    "Objective",
    "Outcome",
    "Part",
    "PhraseIndex",
    "Proposal",
    "Proposer",
    "Rewrite",
    "RunSettings",
    "Services",
    "Target",
    "TextGrad",
    "Trial",
    "Unanswered",
    "Violation",
    "Workbench",
    "check_axioms",
    "check_candidate",
    "compile_expression",
    "cost_table",
    "critique_batch",
    "decide",
    "default_loss",
    "gate",
    "minibatch",
    "open_rows",
    "optimize",
    "parse_loss",
    "read_objective",
    "row_losses",
    "write_loss",
]
