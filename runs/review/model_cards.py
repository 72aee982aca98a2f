"""What the page says of a model before it is asked about rows: its address, key and price, and what
came back when it was tried out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import JudgewrightError
from ...judges.models import Prices
from ..actions.check_model import ModelTrial, try_model
from ..actions.describe_models import describe_model
from ..config.environment import SIMULATED, Environment
from ..store.schema import now
from .errors import words_of

MOST_TRIALS = 50
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What is known of one model."""

    name: str
    simulated: bool = False
    model: str = ""
    """Its name where it is asked."""
    base_url: str = ""
    key: str = ""
    """The environment variable of its key, and whether it is set."""
    price_in: float | None = None
    """US dollars of a million tokens that it reads; None where no price is known."""
    price_out: float | None = None
    """Of a million that it writes."""
    problem: str = ""
    """Why it cannot be asked."""
    tried: Tried | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One call to a model."""

    at: str
    trial: ModelTrial | None = None
    problem: str = ""
    """Why nothing came back."""


class ModelCards:
    """The models that somebody looks at on the page, with how the last call to each went."""

    def __init__(self) -> None:
        self._tried: dict[str, Tried] = {}

    def try_out(self, name: str, environment: Environment) -> None:
        """Ask a model once, and keep what came back or why nothing did."""
        try:
            trial = try_model(name, environment.naming(name))
            tried = Tried(at=now(), trial=trial)
        except JudgewrightError as error:
            tried = Tried(at=now(), problem=words_of(error))
        while len(self._tried) >= MOST_TRIALS:
            self._tried.pop(next(iter(self._tried)), None)
        self._tried[name] = tried

    def card(self, name: str, environment: Environment) -> ModelCard:
        """Say what is known of a model; nothing is asked."""
        tried = self._tried.get(name)
        if name == SIMULATED:
            return ModelCard(name=name, simulated=True, tried=tried)
        try:
            environment = environment.naming(name)
            described = describe_model(name, environment)
        except JudgewrightError as error:
            return ModelCard(name=name, problem=words_of(error), tried=tried)
        if described.named is None:
            return ModelCard(name=name, problem=described.problem, tried=tried)
        named, variable = described.named, described.key_variable
        key = (
            f"{variable}, which is {'set' if described.key_set else 'not set'}" if variable else ""
        )
        prices = Prices(environment.prices, named.settings.price)
        return ModelCard(
            name=name,
            model=named.model,
            base_url=named.base_url,
            key=key,
            price_in=prices.cost(named.model, named.base_url, MILLION, 0),
            price_out=prices.cost(named.model, named.base_url, 0, MILLION),
            problem=described.problem,
            tried=tried,
        )
