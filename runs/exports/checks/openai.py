"""Check a grader against the OpenAI client's types and fill it as the API says: `openai.py EXPORT CASES ANSWER`."""

import json
import re
from importlib.metadata import version

import pydantic
from openai.types import EvalCreateParams
from openai.types.eval_create_response import TestingCriterion
from openai.types.graders import LabelModelGrader, ScoreModelGrader
from script_shared import read_cases, write_answer

PLACEHOLDER = re.compile(r"\{\{\s*item\.(\w+)\s*\}\}")


def typed(grader):
    """Return the grader as the client's types know it; raise where it has a part that they do not know."""
    kind = {"label_model": LabelModelGrader, "score_model": ScoreModelGrader}[grader["type"]]
    model = kind.model_validate(grader, strict=True)
    if model.model_extra or any(message.model_extra for message in model.input):
        raise ValueError(f"the grader has fields that OpenAI does not know: {sorted(model.model_extra)}")
    return model


def check_decision(criterion, scale, calibrated):
    """Raise unless the eval passes what the judge's rule takes for positive."""
    if criterion["type"] == "label_model":
        passing = [label for grade, label in enumerate(scale["labels"]) if grade >= scale["threshold"]]
        if criterion["labels"] != scale["labels"] or criterion["passing_labels"] != passing:
            raise ValueError(f"the labels that pass are {criterion['passing_labels']}, not {passing}")
        return
    if criterion["range"] != [scale["low"], scale["high"]]:
        raise ValueError(f"the range {criterion['range']} is not the judge's scale")
    threshold = criterion.get("pass_threshold")
    if threshold is None or not (calibrated or threshold == scale["threshold"]):
        raise ValueError(f"the eval passes at {threshold}, the judge's rule at {scale['threshold']}")


def read_json(folder, pattern):
    """Return the one JSON file that fits the pattern."""
    (path,) = folder.glob(pattern)
    return json.loads(path.read_text(encoding="utf-8"))


def main():
    """Check the grader and the eval."""
    folder, cases = read_cases()
    grader, evaluation = read_json(folder, "*.grader.json"), read_json(folder, "*.eval.json")
    messages = typed(grader).input
    pydantic.TypeAdapter(EvalCreateParams).validate_python(evaluation)
    (criterion,) = evaluation["testing_criteria"]
    pydantic.TypeAdapter(TestingCriterion).validate_python(criterion)
    if {key: value for key, value in criterion.items() if key != "pass_threshold"} != grader:
        raise ValueError("the eval has another grader than the file beside it")
    rule = read_json(folder, "manifest.json")["rule"]
    check_decision(criterion, cases["judge"]["scale"], calibrated=rule["calibration"] is not None)
    rendered = []
    for row in cases["rows"]:

        def value(match, row=row):
            return row[match.group(1)]

        rendered.append([{"role": m.role, "content": PLACEHOLDER.sub(value, m.content)} for m in messages])
    notes = ["the JSON fits the client's types; OpenAI fills the template itself, which was done here by replacement"]
    write_answer(f"openai {version('openai')}", notes, rendered=rendered)


main()
