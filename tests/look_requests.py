"""A look that a test wants, in one line."""

from judgewright.optimize.holdout.ledger import LookRequest


def look_at(holdout: str, run_id: str, before: str, after: str) -> LookRequest:
    """A look of a run at a holdout, of these two prompts."""
    return LookRequest(holdout=holdout, run_id=run_id, before=before, after=after)
