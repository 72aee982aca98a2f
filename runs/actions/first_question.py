"""The question that a decision model is about to be asked for the first time."""

from __future__ import annotations

from ...judges import JudgePrompt
from ...judges.asked_question import AskedQuestion
from ..config.environment import Environment
from ..store.workspace import Workspace


def first_question(
    workspace: Workspace,
    prompt: JudgePrompt,
    model: str,
    environment: Environment,
    question: AskedQuestion | None = None,
) -> tuple[str, ...]:
    """Return a note that shows the question, or those that go out together; none for a chat model,
    or where a run of the workspace has asked it already.

    Raises:
        InputError: The judge is no question for this model's interface.
    """
    api = environment.settings(model).api
    if api is None:
        return ()
    question = question or AskedQuestion(prompt=prompt, api=api)
    text = question.describe()
    configs = [run.config for run in workspace.runs("bench", "optimize")]
    asked = {
        (one.get("model"), one.get("prompt"), *dict(one.get("shared_inputs", ())))
        for one in configs
    }
    questions = (question, *question.beside)
    if any((model, one.prompt.to_yaml(), *one.shared_inputs) in asked for one in questions):
        return ()
    return (f"{model} is asked this, here about a row whose texts are empty:\n{text}",)
