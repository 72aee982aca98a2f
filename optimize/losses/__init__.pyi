from .axioms import axiom_faults, check_axioms
from .class_names import ClassNames
from .classes import Classes
from .costs import cost_table, outcome_costs
from .expression import FUNCTIONS, NAMES, Expression, compile_expression
from .grid import Grades
from .loss import (
    Loss,
    check_loss,
    default_loss,
    missing_declaration,
    parse_loss,
    row_losses,
    write_loss,
)
from .objective import (
    TARGETS,
    Floor,
    Guard,
    Objective,
    Reading,
    metric_name,
    read_floor,
    read_guard,
)
from .outcomes import TARGET_SLICE, Outcomes, outcomes_of
from .reading import ModelReading, parse_reading, read_by_model, reading_request
from .request import loss_request, outcome_facts, scale_facts
from .settling import Unsettled, read_objective

__all__ = [
    "FUNCTIONS",
    "NAMES",
    "TARGETS",
    "TARGET_SLICE",
    "ClassNames",
    "Classes",
    "Expression",
    "Floor",
    "Grades",
    "Guard",
    "Loss",
    "ModelReading",
    "Objective",
    "Outcomes",
    "Reading",
    "Unsettled",
    "axiom_faults",
    "check_axioms",
    "check_loss",
    "compile_expression",
    "cost_table",
    "default_loss",
    "loss_request",
    "metric_name",
    "missing_declaration",
    "outcome_costs",
    "outcome_facts",
    "outcomes_of",
    "parse_loss",
    "parse_reading",
    "read_by_model",
    "read_floor",
    "read_guard",
    "read_objective",
    "reading_request",
    "row_losses",
    "scale_facts",
    "write_loss",
]
