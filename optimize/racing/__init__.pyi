from .confidence_sequence import STAKES, ConfidenceSequence, log_mean
from .race import RaceResult, run_race
from .schedule import RaceSettings, lay_out, plan_stops

__all__ = [
    "STAKES",
    "ConfidenceSequence",
    "RaceResult",
    "RaceSettings",
    "lay_out",
    "log_mean",
    "plan_stops",
    "run_race",
]
