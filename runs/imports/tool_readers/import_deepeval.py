"""Tell what prompt a DeepEval metric judges with: `import_deepeval.py NAME OUT`; all names where NAME is empty."""

import json
import logging
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
warnings.simplefilter("ignore")

from deepeval import metrics  # noqa: E402
from deepeval.models import DeepEvalBaseLLM  # noqa: E402
from deepeval.test_case import LLMTestCase, SingleTurnParams  # noqa: E402

CRITERIA = "zqmarkczq"
PARAMETERS = {
    "g_eval_answer": (SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT),
    "g_eval_context": (SingleTurnParams.INPUT, SingleTurnParams.RETRIEVAL_CONTEXT),
    "g_eval_groundedness": (SingleTurnParams.RETRIEVAL_CONTEXT, SingleTurnParams.ACTUAL_OUTPUT),
}
"""GEval over the texts that each of the three judges of a RAG answer sees."""
METRICS = {
    "answer_relevancy": metrics.AnswerRelevancyMetric,
    "contextual_relevancy": metrics.ContextualRelevancyMetric,
    "faithfulness": metrics.FaithfulnessMetric,
    "hallucination": metrics.HallucinationMetric,
}
MARKS = {
    "zqmark0zq": "input",
    "zqmark1zq": "actual_output",
    "zqmark2zq": "retrieval_context",
    "zqmark3zq": "statements",
    "zqmark4zq": "claims",
    "zqmark5zq": "truths",
    CRITERIA: "criteria",
}
FIELD = {name: mark for mark, name in MARKS.items()}


class Fake(DeepEvalBaseLLM):
    """Keeps what it is asked, and answers with marks, and with no verdicts."""

    def __init__(self):
        self.asked = []
        super().__init__("fake")

    def load_model(self):
        return self

    def get_model_name(self):
        return "fake"

    async def a_generate(self, prompt, schema=None):
        return self.generate(prompt, schema)

    def generate(self, prompt, schema=None):
        names = list(schema.model_fields) if schema else []
        self.asked.append((prompt, names))
        given = {n: [FIELD[n]] if n in FIELD else [] if n == "verdicts" else 0 if n == "score" else "r" for n in names}
        return schema(**given) if schema else "{}"


def metric_of(name, model):
    """Return the metric, with marks where the user's own words would stand."""
    if name in PARAMETERS:
        asked = {"evaluation_steps": [CRITERIA], "evaluation_params": list(PARAMETERS[name])}
        return metrics.GEval(name="judge", model=model, async_mode=False, **asked)
    return METRICS[name](model=model, async_mode=False, include_reason=False)


def main() -> None:
    """Write what was found as JSON."""
    name, out = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.CRITICAL)
    tool = f"deepeval {version('deepeval')}"
    if not name:
        out.write_text(json.dumps({"tool": tool, "names": [*PARAMETERS, *METRICS]}), encoding="utf-8")
        return
    if name not in PARAMETERS and name not in METRICS:
        raise SystemExit(f"DeepEval's metric {name!r} is not one that is read: {', '.join((*PARAMETERS, *METRICS))}")
    model = Fake()
    case = LLMTestCase(
        input=FIELD["input"],
        actual_output=FIELD["actual_output"],
        context=[FIELD["retrieval_context"]],
        retrieval_context=[FIELD["retrieval_context"]],
    )
    metric = metric_of(name, model)
    try:
        metric.measure(case, _show_indicator=False)
    except Exception as error:  # noqa: BLE001  # what the metric makes of no verdicts does not matter here
        print(f"after the prompt: {error}", file=sys.stderr)
    own = name in PARAMETERS
    asked = [prompt for prompt, names in model.asked if ("score" in names if own else "verdicts" in names)]
    if not asked:
        raise SystemExit(f"DeepEval's {name} asked for no verdict")
    text = asked[0]
    used = {mark: field for mark, field in MARKS.items() if mark in text}
    told = {
        "tool": tool,
        "name": name,
        "place": f"{type(metric).__module__}.{type(metric).__name__}",
        "dialect": "jinja2",
        "messages": [{"role": "user", "content": text}],
        "marks": used,
        "scale": {"kind": "graded", "low": 0, "high": 10} if own else {"kind": "binary", "labels": ["no", "yes"]},
        "reply": {"reason": "text", "score": "score"} if own else None,
        "unreadable": "" if own else "DeepEval asks for a list of verdicts, one for each piece",
        "needs": {"criteria": "GEval judges by evaluation steps of yours"} if own else {},
        "notes": ["DeepEval divides the score by 10, and weighs it by token probabilities where a model tells them."]
        if own
        else ["DeepEval breaks a text into pieces and reports the share with a good verdict; here a row is one piece."],
    }
    out.write_text(json.dumps(told), encoding="utf-8")


main()
