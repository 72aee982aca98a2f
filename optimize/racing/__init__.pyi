from .confidence_sequence import STAKES, ConfidenceSequence
from .race import RaceResult, race
from .schedule import RaceSettings, lay_out, plan_stops

__all__ = [
    "STAKES",
    "ConfidenceSequence",
    "RaceResult",
    "RaceSettings",
    "lay_out",
    "plan_stops",
    "race",
]
