from .attack_success_rate import AttackReport, attack_success_rate, plant, wordings
from .detectable_change import CHURN, DetectableChange, minimum_detectable_change
from .human_agreement import HumanAgreement, human_agreement
from .label_audit import (
    Finding,
    LabelAudit,
    Mark,
    Remeasured,
    Suspect,
    likely_label_errors,
    read_audit,
    remeasure,
    write_audit,
)
from .order_sensitivity import OrderReport, order_sensitivity
from .self_agreement import Retest, retest

__all__ = [
    "CHURN",
    "AttackReport",
    "DetectableChange",
    "Finding",
    "HumanAgreement",
    "LabelAudit",
    "Mark",
    "OrderReport",
    "Remeasured",
    "Retest",
    "Suspect",
    "attack_success_rate",
    "human_agreement",
    "likely_label_errors",
    "minimum_detectable_change",
    "order_sensitivity",
    "plant",
    "read_audit",
    "remeasure",
    "retest",
    "wordings",
    "write_audit",
]
