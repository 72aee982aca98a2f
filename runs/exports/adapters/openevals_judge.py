"""The judge in `judge.json` as an evaluator of openevals."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from openevals.llm import create_llm_as_judge

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


class AskedModel:
    """A model as openevals knows one, which asks as the judge is asked and hands on the grade that
    was read: openevals itself does not see how a reply ended.
    """

    def __init__(self, model, parameters):
        self.model = model
        self.parameters = parameters or {}
        self.chat = SimpleNamespace(completions=self)

    def create(self, *, model, messages, **_):
        """Ask, and answer with the grade in place of the reply."""
        settings = JUDGE.settings(**self.parameters)
        if JUDGE.asks_question:
            row = json.loads(messages[-1]["content"])
            grade, reasons = JUDGE.ask(self.model, model, row, self.parameters)
        elif hasattr(self.model, "chat"):
            create = self.model.chat.completions.create
            completion = create(model=model, messages=messages, **settings)
            grade, reasons = JUDGE.read_completion(completion)
        else:
            grade, reasons = JUDGE.read_message(self.model.bind(**settings).invoke(messages))
        content = json.dumps({"grade": grade, "reasons": reasons})
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=content))])


def evaluator(judge, *, model=JUDGE.name, parameters=None, **options):
    """Return an evaluator of rows.

    Args:
        judge: A LangChain chat model; or an OpenAI client, and then `model="NAME"` beside it: what
            a judge of decision models needs.
        model: The name of the model, for an OpenAI client.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
        options: More for `create_llm_as_judge`.
    """

    def messages(inputs=None, outputs=None, reference_outputs=None, **row):
        texts = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        if JUDGE.asks_question:
            return [{"role": "user", "content": json.dumps({**texts, **row})}]
        return JUDGE.messages({**texts, **row})

    ask = create_llm_as_judge(
        prompt=messages,
        judge=AskedModel(judge, parameters),
        model=model,
        feedback_key=JUDGE.name,
        output_schema={"title": "verdict"},
        **options,
    )

    def evaluate(**row):
        """Return the feedback on one row, given by its fields; raise ValueError where the reply has
        no grade.
        """
        verdict = ask(**row)
        metadata = {"positive": JUDGE.positive(verdict["grade"]), "version": JUDGE.version}
        return {
            "key": JUDGE.name,
            "score": verdict["grade"],
            "comment": verdict["reasons"],
            "metadata": metadata,
        }

    return evaluate
