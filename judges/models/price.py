"""Prices: what a call costs, from prices that are on this machine.

`genai-prices` ships a snapshot of public prices and is never asked to update it. A price in the
model's settings wins. An unknown price is None and never 0: a budget in money then cannot be
kept, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Lt

from ..errors import InputError

_MILLION = 1_000_000
_Dollars = Annotated[float, Ge(0), Lt(math.inf)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens; cached ones cost as much as others unless they have a
    price.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None

    def __post_init__(self) -> None:
        for name, dollars in (
            ("input", self.input),
            ("output", self.output),
            ("cached", self.cached),
        ):
            if dollars is not None and not (math.isfinite(dollars) and dollars >= 0):
                raise InputError(f"price.{name}: {dollars!r} is not an amount of dollars")

    def cost(self, tokens_in: int, tokens_out: int, cached: int) -> float:
        """Return US dollars; cached tokens are part of `tokens_in`."""
        cached_price = self.input if self.cached is None else self.cached
        dollars = (
            (tokens_in - cached) * self.input + cached * cached_price + tokens_out * self.output
        )
        return dollars / _MILLION


@dataclass(frozen=True)
class Prices:
    """What a model costs, by its settings, else by the bundled snapshot."""

    own: Price | None = None
    """The price in the model's settings."""

    def cost(
        self, model: str, endpoint: str, tokens_in: int, tokens_out: int, cached: int = 0
    ) -> float | None:
        """Return what a call costs in US dollars, or None where no price is known.

        Args:
            model: The model's name at its endpoint.
            endpoint: The endpoint's base URL; `simulated:VERSION` costs nothing.
            tokens_in: Prompt tokens, cached ones included.
            tokens_out: Completion tokens.
            cached: Prompt tokens the endpoint had cached.
        """
        # Some endpoints report more cached tokens than tokens.
        cached = min(cached, tokens_in)
        if self.own is not None:
            return self.own.cost(tokens_in, tokens_out, cached)
        if endpoint.startswith("simulated:") or model == "simulated":
            return 0.0
        return _public_cost(model, endpoint, tokens_in, tokens_out, cached)


def _public_cost(
    model: str, endpoint: str, tokens_in: int, tokens_out: int, cached: int
) -> float | None:
    price = _public_price(model, endpoint)
    if price is None and model.count("/") > 1:  # the provider's own name in KIND/PROVIDER/MODEL
        model = model.split("/", 2)[-1]
        price = _public_price(model, endpoint)
    if isinstance(price, Price):
        return price.cost(tokens_in, tokens_out, cached)
    return None if price is None else _calculated(model, endpoint, tokens_in, tokens_out, cached)


@lru_cache(maxsize=256)
def _public_price(model: str, endpoint: str) -> Price | Literal["tiered"] | None:
    """Look the price up once: in the snapshot that takes longer than a whole call."""
    from genai_prices import Usage, calc_price
    from genai_prices.types import TieredPrices

    try:
        # By URL, so that a local server with a famous model's name is not billed as the famous one.
        public = calc_price(
            Usage(input_tokens=1, output_tokens=1), model, provider_api_url=endpoint
        ).model_price
    except LookupError:
        return None
    if any(isinstance(value, TieredPrices) for value in vars(public).values()):
        return "tiered"
    tokens_in = _calculated(model, endpoint, _MILLION, 0, 0)
    tokens_out = _calculated(model, endpoint, 0, _MILLION, 0)
    cached = _calculated(model, endpoint, _MILLION, 0, _MILLION)
    return Price(input=tokens_in, output=tokens_out, cached=cached)


def _calculated(model: str, endpoint: str, tokens_in: int, tokens_out: int, cached: int) -> float:
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached)
    return float(calc_price(usage, model, provider_api_url=endpoint).total_price)
