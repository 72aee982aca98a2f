"""The simulated model: made-up answers without a key, for the demo, the tests and `judgewright simulate`."""

from .faults import Faults
from .model import Simulated

__all__ = ["Faults", "Simulated"]
