"""Hand a judge to other tools, one file for each, and load what was written in the real tool to prove it."""

from .manifest import Export, manifest, read_export, write_export
from .plain import PLAIN
from .target import Bundle, Handover, Refused, ScoreMap, Target
from .verify import Verification, verify_export

TARGETS: dict[str, Target] = {target.name: target for target in PLAIN}
"""Every target by the name that `--to` takes."""

__all__ = [
    "TARGETS",
    "Bundle",
    "Export",
    "Handover",
    "Refused",
    "ScoreMap",
    "Target",
    "Verification",
    "manifest",
    "read_export",
    "verify_export",
    "write_export",
]
