"""Push a Langfuse export through the real client to a fake server, and pull it: `langfuse.py EXPORT
CASES ANSWER`.
"""

import contextlib
import json
import re
from importlib.metadata import version

import httpx
import openai
from langfuse import Langfuse
from langfuse.api import CreateEvaluatorRequest_LlmAsJudge
from langfuse.api.core.api_error import ApiError
from langfuse.api.core.pydantic_utilities import parse_obj_as
from script_shared import ask_cases, load_module, read_cases, reader_of, write_answer


class FakeServer:
    """Answers the client in memory: keeps the prompt it is sent, and gives it back."""

    def __init__(self):
        self.prompt = self.evaluator = None

    def __call__(self, request):
        path = request.url.path
        if request.method == "POST" and path == "/api/public/v2/prompts":
            self.prompt = json.loads(request.content) | {"version": 1}
        if request.method == "POST" and path.endswith("/evaluators"):
            self.evaluator = json.loads(request.content)
            return httpx.Response(418, json={"message": "kept, and no more"})
        return httpx.Response(200, json=self.prompt)


def check_evaluator(module, client, server, inputs):
    """Raise unless the evaluator is what the API takes, with the prompt's messages and each field's
    source.
    """
    with contextlib.suppress(ApiError):
        module.push_evaluator(client, dict.fromkeys(inputs, ("metadata", "$.x")))
    evaluator = parse_obj_as(CreateEvaluatorRequest_LlmAsJudge, server.evaluator)
    if [m.content for m in evaluator.prompt] != [m["content"] for m in server.prompt["prompt"]]:
        raise ValueError("the evaluator has other messages than the prompt")
    if [m.variable for m in evaluator.variable_mapping] != list(inputs):
        raise ValueError("the evaluator maps other fields than the judge has")
    fields = {name for m in evaluator.prompt for name in re.findall(r"\{\{(\w+)\}\}", m.content)}
    if fields != set(inputs):
        raise ValueError(f"the evaluator names the fields {sorted(fields)}")


def main():
    """Check the prompt, the reading of replies and the evaluator."""
    folder, cases = read_cases()
    module, server = load_module(folder, "*.py"), FakeServer()
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

    asking = openai.OpenAI(api_key="none")

    def ask(url, row):
        completion = asking.with_options(base_url=url).chat.completions.create(
            model=cases["model"], messages=prompt.compile(**row), **prompt.config.get("request", {})
        )
        grade, _ = reader_of(module)(completion)
        return grade, grade >= module.THRESHOLD

    check_evaluator(module, client, server, cases["judge"]["inputs"])
    notes = [
        "pushed and pulled through the client to a stand-in of the server",
        "the evaluator fits the API's schema",
    ]
    write_answer(f"langfuse {version('langfuse')}", notes, outcomes=ask_cases(cases, ask))


main()
