"""What it costs at most to have a model read an objective and write the loss for it."""

from __future__ import annotations

from ...judges import JudgePrompt, Prices
from ...judges.models.budget import Forecast
from ...optimize import ObjectiveWords
from ...optimize.losses.loss import RETURNS
from ...optimize.losses.reading import reading_request
from ...optimize.losses.request import loss_request
from ..actions.read_objective import saved_slices
from ..config.environment import SIMULATED, Environment, open_model
from ..store.workspace import Workspace


def price_reading(
    workspace: Workspace,
    words: ObjectiveWords,
    judge: JudgePrompt,
    model: str,
    environment: Environment,
) -> float | None:
    """Return dollars at most: one reading, and a loss with every refusal; None where no price is
    known.

    Raises:
        InputError: The model's name is not valid.
    """
    if model == SIMULATED:
        return 0.0
    opened, slices = open_model(model, environment), saved_slices(workspace)
    # A loss is priced as for any target: which one is meant is not yet known.
    target = words.target or ("accuracy_grades" if judge.scale.kind == "choice" else "f1")
    objective = ObjectiveWords(text=words.text, target=target).read(judge, slices=slices)
    reading = reading_request(words.text, judge, (), tuple(slices))
    prices, forecast = Prices(environment.prices, environment.settings(model).price), Forecast()
    total = 0.0
    for request, times in ((reading, 1), (loss_request(objective, ""), 1 + RETURNS)):
        tokens_in, tokens_out = forecast.before(environment.settings(model).apply(request))
        cost = prices.cost(opened.name, opened.endpoint, tokens_in, tokens_out)
        if cost is None:
            return None
        total += times * cost
    return total
