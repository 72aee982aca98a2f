from .axioms import axiom_faults, check_axioms
from .classes import Classes, ClassOutcomes
from .costs import BANDS, MAX_DISTANCES, class_costs, cost_lines, cost_table
from .expression import FUNCTIONS, NAMES, Expression, compile_expression
from .grid import Grades
from .loss import Loss, default_loss, loss_request, missing_declaration, parse_loss, row_losses, write_loss
from .objective import TARGETS, Guard, metric_name, read_guard, read_objective
from .outcomes import TARGET_SLICE, Outcomes, outcomes_of

__all__ = [
    "BANDS",
    "FUNCTIONS",
    "MAX_DISTANCES",
    "NAMES",
    "TARGETS",
    "TARGET_SLICE",
    "ClassOutcomes",
    "Classes",
    "Expression",
    "Grades",
    "Guard",
    "Loss",
    "Outcomes",
    "axiom_faults",
    "check_axioms",
    "class_costs",
    "compile_expression",
    "cost_lines",
    "cost_table",
    "default_loss",
    "loss_request",
    "metric_name",
    "missing_declaration",
    "outcomes_of",
    "parse_loss",
    "read_guard",
    "read_objective",
    "row_losses",
    "write_loss",
]
