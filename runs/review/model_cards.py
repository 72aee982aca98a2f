"""What the page says of a model before it is asked about rows: its address, key and price, and what
came back when it was tried out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import JudgewrightError
from ...judges.models import Prices
from ..actions.describe_models import ModelDescription, describe_model
from ..actions.try_model import ModelTrial, try_model
from ..config.environment import SIMULATED, Environment
from .errors import words_of

MOST_TRIALS = 50
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What is known of one model."""

    name: str
    described: ModelDescription | None = None
    """None for the simulated model, and for a name that cannot be used."""
    price_in: float | None = None
    """US dollars of a million tokens that it reads; None where no price is known."""
    price_out: float | None = None
    """Of a million that it writes."""
    problem: str = ""
    """Why it cannot be asked."""
    tried: ModelTrial | str = ""
    """What came back from the last call, or why nothing did."""


class ModelCards:
    """The models that somebody looks at on the page, with how the last call to each went."""

    def __init__(self) -> None:
        self._tried: dict[str, ModelTrial | str] = {}

    def try_out(self, name: str, environment: Environment) -> None:
        """Ask a model once, and keep what came back or why nothing did."""
        try:
            tried = try_model(name, environment.naming(name))
        except JudgewrightError as error:
            tried = words_of(error)
        while len(self._tried) >= MOST_TRIALS:
            self._tried.pop(next(iter(self._tried)), None)
        self._tried[name] = tried

    def card(self, name: str, environment: Environment) -> ModelCard:
        """Say what is known of a model; nothing is asked."""
        tried = self._tried.get(name, "")
        if name == SIMULATED:
            return ModelCard(name=name, tried=tried)
        try:
            environment = environment.naming(name)
            described = describe_model(name, environment)
        except JudgewrightError as error:
            return ModelCard(name=name, problem=words_of(error), tried=tried)
        price_in = price_out = None
        if named := described.named:
            prices = Prices(named.settings.price)
            price_in = prices.cost(named.model, named.base_url, MILLION, 0)
            price_out = prices.cost(named.model, named.base_url, 0, MILLION)
        return ModelCard(
            name=name,
            described=described,
            price_in=price_in,
            price_out=price_out,
            problem=described.problem,
            tried=tried,
        )
