"""How far a judge's figures can be trusted: repeats, annotators, noise, label errors, obedience to planted text."""

from .attack_success_rate import FlipReport, flip_rate
from .cluster_bootstrap import group_codes, mean_over_rows
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
from .prompt_injection import find_injections
from .self_agreement import Retest, retest

__all__ = [
    "CHURN",
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
    "disagreements",
    "find_injections",
    "flip_rate",
    "group_codes",
    "human_agreement",
    "likely_label_errors",
    "mean_over_rows",
    "minimum_detectable_change",
    "noise_note",
    "read_audit",
    "remeasure",
    "retest",
    "write_audit",
]
