"""Decision endpoints served from the simulated judge, spoken to over a real socket."""

import copy
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from judgewright.judges.models.question import DecisionApi, Question
from judgewright.judges.simulated import Faults, Server

from ...scripted_decisions import ScriptedDecisions

PATHS = {"decisions": "/decisions", "systemone": "/systemone", "sglang": "/decisions"}

EXAMPLES: dict[DecisionApi, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "decision_examples.json").read_text(encoding="utf-8")
)
"""For each kind of endpoint a request and its answer, as its documentation has them."""
EVERY_API = pytest.mark.parametrize("api", EXAMPLES)
MODELS: dict[DecisionApi, str] = {"decisions": "gpt-6-luna", "systemone": "jev-1.13.0"}


CLIENTS = Path(__file__).resolve().parents[3] / ".verify/decision-sdks/bin/python"
"""Where the endpoints' own clients are; `make verify-exports` installs them."""


def app(api: DecisionApi, decide: Any = None, **options: Any):
    """An endpoint that serves the model of the example."""
    named = {"model": MODELS.get(api, "default"), **options}
    return ScriptedDecisions(api, decide, **named).app()


def ask(
    server: Server, api: DecisionApi, body: object = None, key: str | None = None
) -> httpx.Response:
    """Send one request, the example unless another is given."""
    return httpx.post(
        server.base_url + PATHS[api],
        content=body if isinstance(body, bytes) else None,
        json=None if isinstance(body, bytes) else body or EXAMPLES[api]["request"],
        headers={"authorization": f"Bearer {key}"} if key else {},
        trust_env=False,
    )


def stats(server: Server) -> dict[str, Any]:
    """Read the counts."""
    return httpx.get(server.base_url.removesuffix("/v1") + "/stats", trust_env=False).json()


def as_documented(question: Question, state: object) -> Sequence[float]:
    """Answer with the probabilities of the examples."""
    three = {"yes_no": (0.09, 0.91), "choice": (0.8, 0.15, 0.05), "score": (0.1, 0.2, 0.7)}
    two = {"yes_no": (0.1, 0.9), "choice": (0.7, 0.3), "score": (0.2, 0.8)}
    return (two if state == EXAMPLES["sglang"]["request"]["input"] else three)[question.kind]


@EVERY_API
def test_the_documented_request_gets_the_documented_answer(api: DecisionApi) -> None:
    """With the probabilities of the example, all fields are those of the example but what the
    tokens and the label mass come to.
    """
    with Server(app(api, as_documented)) as server:
        body = ask(server, api).json()
    expected = copy.deepcopy(EXAMPLES[api]["answer"])
    assert body["usage"].keys() == expected.pop("usage").keys()
    assert body.pop("usage")
    if api == "sglang":
        for answers in (body["answers"], expected["answers"]):
            assert all(0 < answer.pop("label_mass") <= 1 for answer in answers.values())
    assert flat(body) == pytest.approx(flat(expected))


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every value of nested JSON by its path."""
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    leaves: dict[str, Any] = {}
    for key, inner in items:
        leaves |= flat(inner, f"{path}/{key}")
    return leaves


@EVERY_API
def test_the_simulated_judge_answers_the_same_in_every_process(api: DecisionApi) -> None:
    """Equal requests get equal distributions, another seed another one; they sum to one."""
    bodies = []
    for seed in (0, 0, 1):
        with Server(app(api, faults=Faults(seed=seed))) as server:
            bodies.append(ask(server, api).json()["answers"])
    assert bodies[0] == bodies[1] != bodies[2]
    for name in ("r", "s"):
        assert sum(shares_of(bodies[0], name)) == pytest.approx(1, abs=3e-4)


@EVERY_API
def test_a_question_is_answered_alike_alone_and_among_others(api: DecisionApi) -> None:
    """Questions are independent, and the state is billed once."""
    alone = copy.deepcopy(EXAMPLES[api]["request"])
    questions = alone["questions"]
    alone["questions"] = {"g": questions["g"]} if isinstance(questions, dict) else questions[:1]
    state = "state" if api == "systemone" else "input"
    alone[state] = {"text": "many words " * 500} if api == "systemone" else "many words " * 500
    both = {**EXAMPLES[api]["request"], state: alone[state]}
    with Server(app(api)) as server:
        first, second = ask(server, api, alone).json(), ask(server, api, both).json()
        counted = stats(server)
    key = "g" if isinstance(first["answers"], dict) else 0
    assert first["answers"][key] == second["answers"][key]
    tokens = "prompt_tokens" if api == "sglang" else "input_tokens"
    assert first["usage"][tokens] > 1000
    assert second["usage"][tokens] - first["usage"][tokens] < 200
    assert (counted["requests"], counted["billed"]) == (2, 2)


COMMON = [("temprature", 1), ("questions", []), ("questions/g/foo", 1), ("questions/g/type", "box")]
"""What no endpoint takes: where in the example it stands, and what stands there."""
REFUSED: dict[DecisionApi, list[tuple[str, object]]] = {
    "decisions": [
        ("input", {"a": "b"}),
        ("safety_identifier", "x" * 129),
        ("questions", [{"type": "predicate", "instructions": "x"}] * 401),
        ("questions/g/instructions", None),
        ("questions/g/name", "r"),
        ("questions/r/choices", [{"value": "only"}]),
        ("questions/r/choices", [{"value": "same"}] * 2),
        ("questions/r/choices", [{"value": str(i)} for i in range(256)]),
        ("questions/s/levels", [{"label": str(i)} for i in range(11)]),
    ],
    "systemone": [
        ("state", 5),
        ("questions/n", {"type": "noul"}),
        ("questions/r/criteria", ["a", "b"]),
        ("questions/r/criteria", {str(i): None for i in range(256)}),
        ("questions/s/criteria", ["one"]),
        ("questions/s/criteria", ["level"] * 11),
    ],
    "sglang": [
        ("temperature", "1"),
        ("chat_template_kwargs", {"enable_thinking": True}),
        ("questions/g/id", "r"),
        ("questions/r/options", [{"name": str(i)} for i in range(27)]),
        ("questions/s/levels", ["level"] * 11),
    ],
}
FIELDS = {
    "decisions": {"message", "type", "param", "code"},
    "systemone": {"loc", "msg", "type"},
    "sglang": {"object", "message", "type", "param", "code"},
}
"""Those of an error."""


@EVERY_API
def test_what_an_endpoint_does_not_know_is_refused(api: DecisionApi) -> None:
    """A field that is unknown, missing, of another type or outside its limits, in the endpoint's
    own words, and nothing is billed.
    """
    with Server(app(api)) as server:
        for path, value in COMMON + REFUSED[api]:
            body = part = copy.deepcopy(EXAMPLES[api]["request"])
            *steps, last = path.split("/")
            for step in steps:
                part = part["grs".index(step)] if isinstance(part, list) else part[step]
            part[last] = value
            answer = ask(server, api, body)
            assert answer.status_code == (422 if api == "systemone" else 400), path
            error = answer.json()
            error = error["detail"][0] if api == "systemone" else error.get("error", error)
            assert error.keys() == FIELDS[api]
        assert stats(server)["billed"] == 0


@EVERY_API
def test_a_key_a_model_and_a_path_are_checked(api: DecisionApi) -> None:
    """Each refusal has the status of its kind; System One forbids who sends no key."""
    other = {**EXAMPLES[api]["request"], "model": "jev-9"}
    with Server(app(api, key="secret")) as server:
        keys = [ask(server, api, key=key).status_code for key in (None, "wrong", "secret")]
        assert keys == [403 if api == "systemone" else 401, 401, 200]
        assert ask(server, api, other, "secret").status_code == 404
    with Server(ScriptedDecisions(api).app("/v1/elsewhere")) as server:
        assert ask(server, api).status_code == 404


def shares_of(answers: Any, name: str) -> list[float]:
    """The probabilities of one answer."""
    shares = answers_of(answers)[name]["probabilities"]
    return (
        list(shares.values())
        if isinstance(shares, dict)
        else [one["probability"] for one in shares]
    )


def answers_of(answers: Any) -> dict[str, Any]:
    """The answers by the names of their questions, in the order in which they came."""
    return answers if isinstance(answers, dict) else {one["name"]: one for one in answers}


@EVERY_API
def test_the_faults_of_chat_are_those_of_decisions(api: DecisionApi) -> None:
    """Statuses and dropped connections are drawn for each attempt, spoilt answers for each body."""
    with Server(app(api, faults=Faults.parse("503=1,once=true,retry_after=0.5"))) as server:
        first = ask(server, api)
        assert (first.status_code, first.headers["retry-after"]) == (503, "0.5")
        assert ask(server, api).status_code == 200
    with Server(app(api, faults=Faults.parse("timeout=1,hold=0.01,once=true"))) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            ask(server, api)
        assert stats(server)["answers"] == {"dropped": 1}
    for spec, fault in {"garbage=1": "1.7", "refusal=1": "refusal"}.items():
        with Server(app(api, faults=Faults.parse(spec))) as server:
            assert fault in ask(server, api).text
    with Server(app(api, faults=Faults(truncate=1))) as server:
        assert list(answers_of(ask(server, api).json()["answers"])) == ["g", "r"]


def through_client(server: Server, api: DecisionApi, key: str = "secret") -> Any:
    """What the endpoint's own client reads of the answer to the example."""
    if not CLIENTS.exists():
        pytest.skip("the clients of decision models are not installed: make verify-exports")
    script = Path(__file__).parent / "decision_clients.py"
    command = [str(CLIENTS), str(script), api, server.base_url, key]
    request = json.dumps(EXAMPLES[api]["request"])
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("api", MODELS)
def test_the_makers_own_client_reads_what_is_served(api: DecisionApi) -> None:
    """It writes the documented request, asks again after a 429, and reads every field; a wrong key
    is the error it has for that.
    """
    script = ("429 after 0.01", None)
    with Server(app(api, as_documented, key="secret", script=script)) as server:
        body = through_client(server, api)
        error = through_client(server, api, "wrong")
        counted = stats(server)["answers"]
    assert counted == {"429": 1, "200": 1, "401": 1}
    documented = flat({**EXAMPLES[api]["answer"], "usage": 0})
    assert flat({**body, "usage": 0}) == pytest.approx(documented)
    assert "AuthenticationError" in error["error"]
    assert "no valid API key" in error["message"]
