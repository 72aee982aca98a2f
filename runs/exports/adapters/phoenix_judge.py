"""The judge in `judge.json` as an evaluator of Arize Phoenix, and the prompt for its store."""

import json
import sys
from pathlib import Path

from phoenix.evals import Evaluator, Score
from pydantic import create_model

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)
PROMPT_FILE = Path(__file__).with_name("prompt.json")


class Judge(Evaluator):
    """An evaluator whose score is the judge's grade, None where the reply has none."""

    def __init__(self, llm, *, name=JUDGE.name, **parameters):
        """Take an LLM of Phoenix's kind.

        Args:
            llm: The model.
            name: What the scores are called.
            parameters: What the request says otherwise than the judge does; None leaves a part of
                it out.
        """
        inputs = create_model("Row", **dict.fromkeys(JUDGE.inputs, (str, ...)))
        direction = "neutral" if JUDGE.chooses else "maximize"
        super().__init__(name=name, kind="llm", direction=direction, input_schema=inputs)
        self.llm = llm
        self.parameters = parameters

    # generate_text gives the text alone, and not how it ended; clients of other kinds than OpenAI's
    # give no more.

    def _evaluate(self, eval_input):
        request, create = (
            JUDGE.request(eval_input, **self.parameters),
            create_of(self.llm._sync_adapter),
        )
        if create is None:
            text = self.llm.generate_text(request.pop("messages"), **request)
            return [self._score(JUDGE.read_reply, text)]
        return [self._score(JUDGE.read_completion, create(model=self.llm.model, **request))]

    async def _async_evaluate(self, eval_input):
        request, create = (
            JUDGE.request(eval_input, **self.parameters),
            create_of(self.llm._async_adapter),
        )
        if create is None:
            text = await self.llm.async_generate_text(request.pop("messages"), **request)
            return [self._score(JUDGE.read_reply, text)]
        return [self._score(JUDGE.read_completion, await create(model=self.llm.model, **request))]

    def _score(self, read, reply):
        named = {"name": self.name, "kind": "llm", "direction": self.direction}
        metadata = {"model": self.llm.model, "judge": f"{JUDGE.name}@{JUDGE.version}"}
        try:
            grade, reasons = read(reply)
        except ValueError as problem:
            return Score(explanation=f"unscored: {problem}", metadata=metadata, **named)
        label = "positive" if JUDGE.positive(grade) else "negative"
        if JUDGE.chooses:
            label = JUDGE.label(grade)
        return Score(score=grade, label=label, explanation=reasons, metadata=metadata, **named)


def create_of(adapter):
    """Return the call of an OpenAI client, None of another kind's."""
    openai = adapter.client_name() == "openai"
    return adapter.client.chat.completions.create if openai else None


def push(model_name="your-model", *, client=None, model_provider="OPENAI", name=JUDGE.name):
    """Store the prompt that lies beside this file in Phoenix, for people to read and try.

    Args:
        model_name: The model it is tried with there.
        client: A phoenix.client.Client(base_url=..., api_key=...); made from the environment unless
            given.
        model_provider: Whose model that is.
        name: What it is called there.
    """
    from phoenix.client import Client
    from phoenix.client.types import PromptVersion

    version = PromptVersion(
        json.loads(PROMPT_FILE.read_text(encoding="utf-8")),
        model_name=model_name,
        model_provider=model_provider,
        template_format="MUSTACHE",
        description=JUDGE.origin,
    )
    return (client or Client()).prompts.create(name=name, version=version)
