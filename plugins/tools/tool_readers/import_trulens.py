"""Write what prompt a TruLens feedback function sends: `import_trulens.py NAME ANSWER`; all names
where it is empty.
"""

import inspect
import json

from script_shared import answer, marks_for
from trulens.core.feedback.feedback import GroundednessConfigs
from trulens.feedback.dummy.provider import DummyProvider
from trulens.feedback.llm_provider import LLMProvider

SENT = []
OTHER = "zqcriteriazq"
SHORT = {
    "groundedness": "groundedness_measure_with_cot_reasons",
    "answer_relevance": "relevance",
}
"""What people call two judges of a RAG answer, and the functions."""
NOTES = {
    "groundedness_measure_with_cot_reasons": (
        "TruLens splits a response into sentences, judges each "
        "and averages; here a row is one statement."
    ),
}


class Provider(DummyProvider):
    """Keeps what it would ask for a verdict, and gives the lowest; anything else it is asked, it
    gives back.
    """

    def _create_chat_completion(self, prompt=None, messages=None, response_format=None, **options):
        if response_format is None:  # to split a response into sentences
            return messages[-1]["content"]
        SENT.append((messages, response_format))
        return json.dumps({"criteria": "c", "supporting_evidence": "e", "score": 0})


def capture(provider, name, **options):
    """Call a feedback function with marks for its texts; None unless it sends one request with all
    of them.
    """
    function = getattr(provider, name)
    parameters = inspect.signature(function).parameters
    parameter_names = [
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    marks = marks_for(parameter_names)
    arguments = {n: mark for mark, n in marks.items()}
    if "groundedness_configs" in parameters:  # else nltk downloads
        arguments["groundedness_configs"] = GroundednessConfigs(
            use_sent_tokenize=False, filter_trivial_statements=False
        )
    SENT.clear()
    try:
        function(**arguments, **options)
    except Exception:  # noqa: BLE001  # the list of functions is TruLens' own, and some take no plain texts
        return None
    if not marks or len(SENT) != 1:
        return None
    messages, form = SENT[0]
    text = "\n".join(m["content"] for m in messages)
    return (messages, form, marks, parameters) if all(mark in text for mark in marks) else None


def criteria_of(provider, name, text, parameters):
    """Return what the function says where its user may state other criteria; nothing where they may
    not.
    """
    other = capture(provider, name, criteria=OTHER) if "criteria" in parameters else None
    before, mark, after = other[0][0]["content"].partition(OTHER) if other else ("", "", "")
    if not mark or not text.startswith(before) or not text.endswith(after):
        return ""
    return text[len(before) : len(text) - len(after)].strip()


def make_provider():
    """Return a provider that asks nobody."""
    return Provider(
        error_prob=0, loading_prob=0, freeze_prob=0, overloaded_prob=0, delay=0, rpm=1e6
    )


def functions():
    """Return the names of all feedback functions."""
    members = inspect.getmembers(LLMProvider, inspect.isfunction)
    return sorted(name for name, _ in members if not name.startswith("_"))


def names():
    """Return the names of those that send one prompt about plain texts."""
    provider = make_provider()
    judges = (name for name in functions() if not name.startswith("generate_score"))
    return [*SHORT, *(name for name in judges if capture(provider, name))]


def read(name):
    """Return what a feedback function sends."""
    provider, function = make_provider(), SHORT.get(name, name)
    captured = capture(provider, function) if function in functions() else None
    if captured is None:
        raise SystemExit(
            f"TruLens has no feedback function {name!r} that sends one prompt about plain texts"
        )
    messages, form, marks, parameters = captured
    low, high = (
        parameters[end].default if end in parameters else None
        for end in ("min_score_val", "max_score_val")
    )
    notes = ["TruLens reports the grade as a share of the scale, from 0 to 1."]
    return {
        "location": f"trulens.feedback.llm_provider.LLMProvider.{function}",
        "messages": messages,
        "marks": marks,
        "criteria": criteria_of(provider, function, messages[0]["content"], parameters),
        "scale": {"kind": "graded", "low": low, "high": high} if isinstance(high, int) else None,
        "reply": {field: "score" if field == "score" else "text" for field in form.model_fields},
        "notes": [*notes, *([NOTES[function]] if function in NOTES else [])],
    }


answer("trulens", "trulens-feedback", names, read)
