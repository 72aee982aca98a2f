"""The judge in `judge.json` as a metric of TruLens, and the entry for its registry."""

import json
import sys
from inspect import Parameter, Signature
from pathlib import Path

from trulens.core import Metric, TruSession

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import joined, judge_beside

JUDGE = judge_beside(__file__)


def positive(score):
    """Whether a score counts as positive."""
    return score >= JUDGE.share(JUDGE.threshold)


def make_metric(provider, *, parameters=None, **options):
    """Return the judge as a TruLens metric; its score is 0 for the lowest grade, 1 for the highest.

    Args:
        provider: The model, as any TruLens LLM provider: `OpenAI(model_engine=..., base_url=...)`,
            `LiteLLM(...)`.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
        options: What `Metric` takes besides, `selectors` above all; a list of contexts is joined by
            blank lines.
    """
    run = provider.endpoint.run_in_pace

    def judge(*texts, **row):
        row = dict(zip(JUDGE.inputs, texts, strict=False)) | row
        row = {name: joined(text) for name, text in row.items()}
        # The provider's generate_score would ask for an answer format of its own and read 2 out of
        # "2 of 3"; what it calls in the end gives the text alone, and not how it ended, which only
        # OpenAI's client is asked for.
        request = JUDGE.request(row, **(parameters or {}))
        chat = getattr(getattr(provider.endpoint, "client", None), "chat", None)
        if chat is not None:
            create = chat.completions.create
            completion = run(func=create, model=provider.model_engine, **request)
            grade, reason = JUDGE.read_completion(completion)
        else:
            request.pop("response_format", None)
            text = run(func=provider._create_chat_completion, **request)
            grade, reason = JUDGE.read_reply(text)
        return JUDGE.share(grade), {"reason": reason}

    # TruLens finds a row's inputs by the names of the arguments.
    kind = Parameter.POSITIONAL_OR_KEYWORD
    judge.__signature__ = Signature([Parameter(name, kind) for name in JUDGE.inputs])
    return Metric(implementation=judge, name=JUDGE.name, metric_type=JUDGE.name, **options)


def push(database_url, *, label=None):
    """Store the prompt beside this file in a TruLens registry, and return its version id; TruLens
    moves the label `latest` onto it.

    Args:
        database_url: Such as sqlite:///trulens.sqlite.
        label: A label to move as well, such as staging; none unless given.
    """
    entry = json.loads(Path(__file__).with_name("prompt.json").read_text(encoding="utf-8"))
    session = TruSession(database_url=database_url)
    prompt = session.create_prompt(**entry["prompt"])
    version = session.create_prompt_version(prompt, **entry["version"])
    if label is not None:
        session.set_prompt_label(prompt, label, version)
    return version.version_id
