"""Push a Langfuse export through the real client to a fake server, and pull it: `langfuse.py EXPORT
CASES ANSWER`.
"""

import json
from importlib.metadata import version

import httpx
import openai
from langfuse import Langfuse
from script_shared import ask_cases, load_module, read_cases, write_answer


class FakeServer:
    """Answers the client in memory: keeps the prompt it is sent, and gives it back."""

    def __init__(self):
        self.prompt = None

    def __call__(self, request):
        path = request.url.path
        if request.method == "POST" and path == "/api/public/v2/prompts":
            self.prompt = json.loads(request.content) | {"version": 1}
        return httpx.Response(200, json=self.prompt)


def main():
    """Check the prompt and the reading of replies."""
    folder, cases = read_cases()
    module, server = load_module(folder, "*_langfuse.py"), FakeServer()
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
    prompt = client.get_prompt(module.JUDGE.name, type="chat", label="latest")

    asking = openai.OpenAI(api_key="none")

    def ask(url, row):
        completion = asking.with_options(base_url=url).chat.completions.create(
            model=cases["model"], messages=prompt.compile(**row), **prompt.config.get("request", {})
        )
        grade, _ = module.JUDGE.read_completion(completion)
        return grade, module.JUDGE.positive(grade)

    notes = ["pushed and pulled through the client to a stand-in of the server"]
    write_answer(f"langfuse {version('langfuse')}", notes, outcomes=ask_cases(cases, ask))


main()
