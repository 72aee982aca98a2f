"""A model that answers from the call record only: it has another model's name and sends nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ModelError
from .model import Completion, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Has the name and endpoint of another model, so that its recorded answers are found."""

    name: str
    endpoint: str
    simulated: bool = False

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Refuse: what is not in the record was never answered.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"this answer of {self.name!r} is not in the record",
            fatal=True,
            hint="resume the run first",
        )

    async def close(self) -> None:
        """Do nothing."""
