"""Check a grader against the OpenAI client's types and fill it as the API says: `openai.py EXPORT CASES OUT`."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path


def checked(grader):
    """Return the grader as the client's types know it; raise where it has a part that they do not know."""
    from openai.types.graders import LabelModelGrader, ScoreModelGrader

    kind = {"label_model": LabelModelGrader, "score_model": ScoreModelGrader}[grader["type"]]
    found = kind.model_validate(grader, strict=True)
    if found.model_extra or any(message.model_extra for message in found.input):
        raise ValueError(f"the grader has fields that OpenAI does not know: {sorted(found.model_extra)}")
    return found


def check_decision(criterion, scale, calibrated):
    """Raise unless the eval passes what the judge's rule takes for positive."""
    if criterion["type"] == "label_model":
        wanted = [label for place, label in enumerate(scale["labels"]) if place >= scale["threshold"]]
        if criterion["labels"] != scale["labels"] or criterion["passing_labels"] != wanted:
            raise ValueError(f"the labels that pass are {criterion['passing_labels']}, not {wanted}")
        return
    if criterion["range"] != [scale["low"], scale["high"]]:
        raise ValueError(f"the range {criterion['range']} is not the judge's scale")
    threshold = criterion.get("pass_threshold")
    if threshold is None or not (calibrated or threshold == scale["threshold"]):
        raise ValueError(f"the eval passes at {threshold}, the judge's rule at {scale['threshold']}")


def main():
    """Write what was found as JSON."""
    import pydantic
    from openai.types import EvalCreateParams
    from openai.types.eval_create_response import TestingCriterion

    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    read = {"grader": None, "eval": None}
    for name in read:
        read[name] = json.loads(next(given.glob(f"*.{name}.json")).read_text(encoding="utf-8"))
    grader, whole = checked(read["grader"]), read["eval"]
    pydantic.TypeAdapter(EvalCreateParams).validate_python(whole)
    (criterion,) = whole["testing_criteria"]
    pydantic.TypeAdapter(TestingCriterion).validate_python(criterion)
    if {k: v for k, v in criterion.items() if k != "pass_threshold"} != read["grader"]:
        raise ValueError("the eval has another grader than the file beside it")
    rule = json.loads((given / "manifest.json").read_text(encoding="utf-8"))["rule"]
    check_decision(criterion, told["judge"]["scale"], calibrated=rule["calibration"] is not None)
    place = re.compile(r"\{\{\s*item\.(\w+)\s*\}\}")

    def filled(text, row):
        return place.sub(lambda found: row[found.group(1)], text)

    rendered = [[{"role": m.role, "content": filled(m.content, row)} for m in grader.input] for row in told["rows"]]
    notes = ["the JSON fits the client's types; OpenAI fills the template itself, which was done here by replacement"]
    tool = f"openai {version('openai')}"
    out.write_text(json.dumps({"tool": tool, "rendered": rendered, "scores": None, "notes": notes}), encoding="utf-8")


main()
