from .attack_success_rate import AttackReport, attack_success_rate
from .human_agreement import HumanAgreement, human_agreement
from .label_audit import (
    Finding,
    LabelAudit,
    Mark,
    Remeasured,
    Suspect,
    disagreements,
    likely_label_errors,
    read_audit,
    remeasure,
    write_audit,
)
from .noise import CHURN, RANDOM_EDITS, Noise, minimum_detectable_change, noise_note
from .order_sensitivity import OrderReport, order_sensitivity
from .prompt_injection import CONTROL, find_injections, plant, top_grade, wordings
from .self_agreement import Retest, retest

__all__ = [
    "CHURN",
    "CONTROL",
    "RANDOM_EDITS",
    "AttackReport",
    "Finding",
    "HumanAgreement",
    "LabelAudit",
    "Mark",
    "Noise",
    "OrderReport",
    "Remeasured",
    "Retest",
    "Suspect",
    "attack_success_rate",
    "disagreements",
    "find_injections",
    "human_agreement",
    "likely_label_errors",
    "minimum_detectable_change",
    "noise_note",
    "order_sensitivity",
    "plant",
    "read_audit",
    "remeasure",
    "retest",
    "top_grade",
    "wordings",
    "write_audit",
]
