"""What writes a better prompt: the seam, and one file for each way of doing it."""

from .proposer import Ask, Attempt, NoProposal, Proposal, Proposer
from .textgrad import TextGrad

__all__ = ["Ask", "Attempt", "NoProposal", "Proposal", "Proposer", "TextGrad"]
