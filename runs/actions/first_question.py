"""The question that a decision model is about to be asked for the first time."""

from __future__ import annotations

from ...judges import JudgePrompt
from ...judges.asked_question import AskedQuestion
from ..config.environment import Environment
from ..store.workspace import Workspace


def first_question(
    workspace: Workspace, prompt: JudgePrompt, model: str, environment: Environment
) -> tuple[str, ...]:
    """Return a note that shows the question; none for a chat model, or where a run of the workspace
    has asked it already.

    Raises:
        InputError: The judge is no question for this model's interface.
    """
    api = environment.settings(model).api
    if api is None:
        return ()
    question = AskedQuestion(prompt=prompt, api=api).describe()
    runs = workspace.runs("bench", "optimize")
    asked = {(run.config.get("model"), run.config.get("prompt")) for run in runs}
    if (model, prompt.to_yaml()) in asked:
        return ()
    return (f"{model} is asked this, here about a row whose texts are empty:\n{question}",)
