"""How far a judge's figures can be trusted: repeats, annotators, noise, label errors, obedience to planted text."""

from .annotators import HumanAgreement, human_agreement
from .audit import (
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
from .ceiling import Retest, retest
from .flip_rate import FlipReport, flip_rate
from .injection import find_injections
from .noise import CHURN, FLIPPINGS, Noise, detectable_change, noise_note
from .over_groups import group_codes, mean_over_rows

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
    "detectable_change",
    "disagreements",
    "find_injections",
    "flip_rate",
    "group_codes",
    "human_agreement",
    "likely_label_errors",
    "mean_over_rows",
    "noise_note",
    "read_audit",
    "remeasure",
    "retest",
    "write_audit",
]
