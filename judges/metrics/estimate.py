"""One reported number: its value, its interval, the rows behind it, and what to know about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A metric with its 95 % interval and its n; None, never NaN, where a number does not exist."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """How many rows are in its denominator: of precision those that the judge calls positive."""
    reason: str = ""
    """Why the value or the interval is missing, or what to know about it; empty where nothing needs
    saying.
    """

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"an estimate holds finite numbers or None, got {number!r}")
        if self.value is None and not self.reason:
            raise ValueError("an estimate without a value needs a reason")

    @classmethod
    def undefined(cls, n: int, reason: str) -> Estimate:
        """Make the estimate of a metric that has no value on these rows."""
        return cls(value=None, low=None, high=None, n=n, reason=reason)

    @classmethod
    def of(
        cls,
        value: float,
        interval: tuple[float, float] | None,
        n: int,
        *,
        missing: str = "",
        reason: str = "",
    ) -> Estimate:
        """Make the estimate of a value with its interval.

        Args:
            value: The number.
            interval: Its ends; None where nothing shows the spread.
            n: The rows behind it.
            missing: Why there is no interval, where there is none.
            reason: What to know about the number in any case.
        """
        if interval is None:
            reason = "; ".join(filter(None, (reason, missing)))
        low, high = interval or (None, None)
        return cls(value=value, low=low, high=high, n=n, reason=reason)

    def with_caution(self, caution: str) -> Estimate:
        """Return the estimate with a caution more, if there is an interval to be cautious about."""
        if self.low is None:
            return self
        return replace(self, reason=f"{self.reason}; {caution}" if self.reason else caution)

    def to_json(self) -> dict[str, float | int | str | None]:
        """Return value, low, high and n, and the reason where there is one."""
        out: dict[str, float | int | str | None] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }
        if self.reason:
            out["reason"] = self.reason
        return out

    def __str__(self) -> str:
        if self.value is None:
            return f"n/a ({self.reason})"
        if self.low is None or self.high is None:
            return f"{self.value:.4f}"
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


def as_json(figures: object) -> Any:  # Any: JSON
    """Return figures as JSON: a dataclass by its fields, an estimate as `Estimate.to_json` says."""
    if isinstance(figures, Mapping):
        table = cast("Mapping[object, object]", figures)
        return {str(name): as_json(value) for name, value in table.items()}
    if isinstance(figures, list | tuple):
        return [as_json(value) for value in cast("Sequence[object]", figures)]
    if hasattr(figures, "to_json"):
        return cast("Estimate", figures).to_json()
    if is_dataclass(figures):
        return {field.name: as_json(getattr(figures, field.name)) for field in fields(figures)}
    return figures
