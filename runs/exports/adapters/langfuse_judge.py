"""The judge in `judge.json` for Langfuse: it pushes the prompt beside it, and reads replies."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


def push(client, *, labels=()):
    """Create a version of the prompt and return it; it serves nobody until it gets a label such as
    `production`.

    Args:
        client: A `Langfuse`, with its own host and keys.
        labels: Labels to give it.
    """
    body = json.loads(Path(__file__).with_name("prompt.json").read_text(encoding="utf-8"))
    return client.create_prompt(
        name=body["name"],
        prompt=body["prompt"],
        type=body["type"],
        config=body["config"],
        tags=body["tags"],
        commit_message=body["commitMessage"],
        labels=list(labels),
    )
