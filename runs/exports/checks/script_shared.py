"""What the check scripts share; it is copied beside the one that runs, and imports nothing but the standard library."""

import importlib.util
import json
import re
import sys
from pathlib import Path


def read_cases():
    """Return the folder of the export, and the cases: the judge, rows to render, replies to read."""
    folder, cases = map(Path, sys.argv[1:3])
    return folder, json.loads(cases.read_text(encoding="utf-8"))


def write_answer(tool, rendered, scores, notes=()):
    """Write what the tool made of the cases.

    Args:
        tool: Its name and version.
        rendered: The messages that it sends for each row.
        scores: Its score of each reply, None where it refuses; None in all where it reads no replies.
        notes: Whatever else was checked.
    """
    answer = {"tool": tool, "rendered": rendered, "scores": scores, "notes": list(notes)}
    Path(sys.argv[-1]).write_text(json.dumps(answer), encoding="utf-8")


def load_module(folder, pattern):
    """Import the one module of the export whose file name fits the pattern."""
    (path,) = folder.glob(pattern)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their own module up there
    spec.loader.exec_module(module)
    return module


def score_or_none(function, *arguments, refusal=ValueError):
    """Call what scores a reply; None where it refuses."""
    try:
        return function(*arguments)
    except refusal as error:
        print(f"no score: {error}", file=sys.stderr)
        return None


def fixed_fences(messages, inputs):
    """Return messages with fixed tags as fences; each that shows a row has a tag of its own."""
    plain = []
    for message in messages:
        content = message["content"]
        match = re.search(f"<{inputs[0]}-([0-9a-f]{{8}})>\n", content) if message["role"] == "user" else None
        if match:
            content = content.replace(f"-{match.group(1)}>", ">")
        plain.append(message | {"content": content})
    return plain


def chat_completion(reply):
    """Return the body of OpenAI's answer with a reply."""
    message = {"role": "assistant", "content": reply}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "0", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}


def chat_transport(sent, reply):
    """Return an HTTP transport that keeps messages in `sent` and answers as OpenAI does, with `reply[0]`."""
    import httpx

    def answer(request):
        sent.append(json.loads(request.content)["messages"])
        return httpx.Response(200, json=chat_completion(reply[0]))

    return httpx.MockTransport(answer)
