"""The judge in `judge.json` as a module of DSPy that asks and reads as the judge does."""

import json
import sys
from pathlib import Path
from typing import Literal

import dspy
from dspy.utils.exceptions import AdapterParseError

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside, turned

JUDGE = judge_beside(__file__)
FIELDS = JUDGE.fields or {"score": "score"}
SCORE = next(name for name, kind in FIELDS.items() if kind == "score")
"""The field of a prediction with the verdict."""


def score_type():
    """Return the type of the score: a label, a whole number, True or False, or a probability."""
    if JUDGE.labels:
        return Literal[tuple(JUDGE.labels)]
    return {"graded": int, "binary": bool, "probability": float}[JUDGE.kind]


def signature():
    """Return the judge as DSPy's own adapters know one: its fields, and its system message."""
    words = {name: name.replace("_", " ") for name in (*JUDGE.inputs, *FIELDS)}
    prefix = {name: f"{text.title()}:" for name, text in words.items()}
    score = f"a whole number from {JUDGE.low} to {JUDGE.high}"
    if JUDGE.kind == "probability":
        score = "a probability from 0 to 1"
    elif JUDGE.labels:
        score = f"one of {', '.join(JUDGE.labels)}"
    fields = {}
    for name in JUDGE.inputs:
        fields[name] = (str, dspy.InputField(prefix=prefix[name], desc=f"the {words[name]}"))
    for name, kind in FIELDS.items():
        desc = {
            "text": f"the {words[name]}",
            "confidence": f"the {words[name]}, from 0 to 1",
            "score": score,
        }
        types = {"text": str, "confidence": float, "score": score_type()}
        fields[name] = (types[kind], dspy.OutputField(prefix=prefix[name], desc=desc[kind]))
    return dspy.Signature(fields, JUDGE.system, signature_name="JudgeSignature")


JudgeSignature = signature()


def value_of(grade):
    """Return what a prediction's score is for a grade."""
    if JUDGE.labels:
        return JUDGE.label(grade)
    if JUDGE.low_is_good:  # as it stands in a reply: DSPy makes demonstrations of predictions
        return turned(grade)
    return score_type()(grade)


def grade_of(prediction):
    """Return the grade of a prediction."""
    value = prediction[SCORE]
    if JUDGE.labels:
        return float(JUDGE.labels.index(value))
    return turned(float(value)) if JUDGE.low_is_good else float(value)


def positive(prediction):
    """Whether a prediction counts as positive."""
    return JUDGE.positive(grade_of(prediction))


class JudgeAdapter(dspy.Adapter):
    """Sends the judge's own messages and reads its own replies, where DSPy's adapters have headers
    of theirs.
    """

    def __call__(self, lm, lm_kwargs, signature, demos, inputs):
        messages = self.format(signature, demos, inputs)
        replies = lm(messages=messages, **self._request(lm, lm_kwargs))
        return [self._read(signature, lm, messages, reply) for reply in replies]

    async def acall(self, lm, lm_kwargs, signature, demos, inputs):
        messages = self.format(signature, demos, inputs)
        replies = await lm.acall(messages=messages, **self._request(lm, lm_kwargs))
        return [self._read(signature, lm, messages, reply) for reply in replies]

    def _request(self, lm, lm_kwargs):
        named = {**lm.kwargs, **lm_kwargs}
        return JUDGE.defaults | {name: one for name, one in named.items() if one is not None}

    def _read(self, signature, lm, messages, reply):
        # DSPy hands on the text alone, JSON in it written anew; what the endpoint said stands in
        # the model's history.
        entry = next((one for one in reversed(lm.history) if one["messages"] is messages), None)
        completion = entry and entry["response"]
        if not hasattr(completion, "choices"):
            completion = getattr(completion, "provider_data", None)
        text = (reply.get("text") if isinstance(reply, dict) else reply) or ""
        try:
            if completion is not None:
                JUDGE.read_completion(completion)
        except ValueError as error:
            raise self._failure(signature, text, error) from None
        return self.parse(signature, text)

    def _failure(self, signature, text, error):
        return AdapterParseError("JudgeAdapter", signature, text, message=str(error))

    def format(self, signature, demos, inputs):
        # DSPy takes tabs and white space off instructions; where nothing else was changed, the
        # judge's own text goes.
        same = signature.instructions == JudgeSignature.instructions
        messages = [{"role": "system", "content": JUDGE.system if same else signature.instructions}]
        for demo in demos:
            fields = {name: demo.get(name) for name in signature.output_fields}
            messages.append({"role": "user", "content": JUDGE.row_text(demo)})
            messages.append(
                {"role": "assistant", "content": json.dumps(fields, ensure_ascii=False)}
            )
        return [*messages, {"role": "user", "content": JUDGE.user_text(inputs)}]

    def parse(self, signature, completion):
        try:
            reading = JUDGE.reading(completion)
        except ValueError as error:
            raise self._failure(signature, completion, error) from None
        fields = {name: reading.fields.get(name) for name in signature.output_fields}
        return {**fields, SCORE: value_of(reading.score)}


class Judge(dspy.Module):
    """The judge; a row's fields give a prediction."""

    def __init__(self):
        super().__init__()
        self.judge = dspy.Predict(JudgeSignature)

    def forward(self, **row):
        with dspy.context(adapter=JudgeAdapter()):
            return self.judge(**row)
