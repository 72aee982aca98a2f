from .decision import ClaimState, FlipDecision, FlipWins
from .design import FlipDesign, PoolRow, count_flips, pool_rows
from .queue import Draw, FlipQueue, GivenLabel
from .scores import LINEAR, positive_rates, require_linear, score_table
from .steps import allocate
from .wealth import Wealth

__all__ = [
    "LINEAR",
    "ClaimState",
    "Draw",
    "FlipDecision",
    "FlipDesign",
    "FlipQueue",
    "FlipWins",
    "GivenLabel",
    "PoolRow",
    "Wealth",
    "allocate",
    "count_flips",
    "pool_rows",
    "positive_rates",
    "require_linear",
    "score_table",
]
