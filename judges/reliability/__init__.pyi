from .attack_success_rate import FlipReport, flip_rate
from .cluster_bootstrap import bootstrap_groups, group_codes, mean_over_rows
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
from .noise import CHURN, FLIPPINGS, Noise, minimum_detectable_change, noise_note
from .prompt_injection import CONTROL, find_injections, plant, top_grade, wordings
from .self_agreement import Retest, retest

__all__ = [
    "CHURN",
    "CONTROL",
    "FLIPPINGS",
    "Finding",
    "FlipReport",
    "HumanAgreement",
    "LabelAudit",
    "Mark",
    "Noise",
    "Remeasured",
    "Retest",
    "Suspect",
    "bootstrap_groups",
    "disagreements",
    "find_injections",
    "flip_rate",
    "group_codes",
    "human_agreement",
    "likely_label_errors",
    "mean_over_rows",
    "minimum_detectable_change",
    "noise_note",
    "plant",
    "read_audit",
    "remeasure",
    "retest",
    "top_grade",
    "wordings",
    "write_audit",
]
