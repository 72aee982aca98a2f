"""How a prompt gets better, and whether it did. Open `loop` first: `optimize` names the steps."""

from .axioms import check_axioms, cost_table
from .critique import Critique, critique_batch, minibatch
from .expression import Expression, compile_expression
from .gate import Decision, GuardResult, decide, gate
from .invariants import PhraseIndex, Violation, check_candidate
from .journal import Event, Journal, MemoryJournal
from .ledger import Ledger, Look, MemoryLedger
from .loop import Outcome, optimize
from .loss import Loss, default_loss, row_losses, write_loss
from .objective import Guard, Objective, read_objective
from .proposers import Attempt, NoProposal, Proposal, Proposer, TextGrad
from .walk import Aim, Target, Tools, WalkSettings, open_rows

__all__ = [
    "Aim",
    "Attempt",
    "Critique",
    "Decision",
    "Event",
    "Expression",
    "Guard",
    "GuardResult",
    "Journal",
    "Ledger",
    "Look",
    "Loss",
    "MemoryJournal",
    "MemoryLedger",
    "NoProposal",
    "Objective",
    "Outcome",
    "PhraseIndex",
    "Proposal",
    "Proposer",
    "Target",
    "TextGrad",
    "Tools",
    "Violation",
    "WalkSettings",
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
    "read_objective",
    "row_losses",
    "write_loss",
]
