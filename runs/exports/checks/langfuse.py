"""Push a Langfuse export through the real client to a stand-in server, and pull it: `langfuse.py EXPORT CASES OUT`."""

import contextlib
import importlib.util
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path


class Server:
    """Answers the client in memory: keeps the prompt it is sent, and gives it back."""

    def __init__(self):
        self.prompt = self.evaluator = None

    def __call__(self, request):
        import httpx

        path = request.url.path
        if request.method == "POST" and path == "/api/public/v2/prompts":
            self.prompt = json.loads(request.content) | {"version": 1}
        if request.method == "POST" and path.endswith("/evaluators"):
            self.evaluator = json.loads(request.content)
            return httpx.Response(418, json={"message": "kept, and no more"})
        return httpx.Response(200, json=self.prompt)


def module_of(folder):
    """Import the module that was exported."""
    file = next(folder.glob("*.py"))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_evaluator(module, client, server, inputs):
    """Raise unless the evaluator is what the API takes, with the prompt's messages and each field's source."""
    from langfuse.api import CreateEvaluatorRequest_LlmAsJudge
    from langfuse.api.core.api_error import ApiError
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    with contextlib.suppress(ApiError):
        module.push_evaluator(client, dict.fromkeys(inputs, ("metadata", "$.x")))
    sent = parse_obj_as(CreateEvaluatorRequest_LlmAsJudge, server.evaluator)
    if [m.content for m in sent.prompt] != [m["content"] for m in server.prompt["prompt"]]:
        raise ValueError("the evaluator has other messages than the prompt")
    if [m.variable for m in sent.variable_mapping] != list(inputs):
        raise ValueError("the evaluator maps other fields than the judge has")
    named = {name for m in sent.prompt for name in re.findall(r"\{\{(\w+)\}\}", m.content)}
    if named != set(inputs):
        raise ValueError(f"the evaluator names the fields {sorted(named)}")


def main():
    """Write what was found as JSON."""
    import httpx
    from langfuse import Langfuse

    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    module, server = module_of(given), Server()
    client = Langfuse(
        public_key="pk",
        secret_key="sk",  # noqa: S106  # no server asks for it
        base_url="http://langfuse.invalid",
        tracing_enabled=False,
        httpx_client=httpx.Client(transport=httpx.MockTransport(server)),
    )
    module.push(client)
    if server.prompt["labels"]:
        raise ValueError(f"the prompt is pushed with the labels {server.prompt['labels']}")
    prompt = client.get_prompt(module.NAME, type="chat", label="latest")
    rendered = [[{"role": m["role"], "content": m["content"]} for m in prompt.compile(**row)] for row in told["rows"]]
    scores = []
    for reply in told["replies"]:
        try:
            scores.append(module.read_reply(reply)[0])
        except ValueError:
            scores.append(None)
    check_evaluator(module, client, server, told["judge"]["inputs"])
    notes = ["pushed and pulled through the client to a stand-in of the server", "the evaluator fits the API's schema"]
    tool = f"langfuse {version('langfuse')}"
    out.write_text(json.dumps({"tool": tool, "rendered": rendered, "scores": scores, "notes": notes}), encoding="utf-8")


main()
