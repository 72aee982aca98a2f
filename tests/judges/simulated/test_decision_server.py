"""Decision endpoints served from the simulated judge, spoken to over a real socket."""

import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from judgewright.judges.models.question import DecisionApi, Question
from judgewright.judges.simulated import DecisionOptions, Faults, Server, make_decisions_app

PATHS = {"decisions": "/decisions", "systemone": "/systemone", "sglang": "/decisions"}

EXAMPLES: dict[DecisionApi, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "decision_examples.json").read_text(encoding="utf-8")
)
"""For each kind of endpoint a request and its answer, as its documentation has them."""
EVERY_API = pytest.mark.parametrize("api", EXAMPLES)
MODELS: dict[DecisionApi, str] = {"decisions": "gpt-6-luna", "systemone": "jev-1.13.0"}


def app(api: DecisionApi, decide: Any = None, **options: Any):
    """An endpoint that serves the model of the example."""
    named = {"model": MODELS.get(api, "default"), **options}
    return make_decisions_app(api, decide, DecisionOptions(**named))


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
    named = bodies[0] if isinstance(bodies[0], dict) else {one["name"]: one for one in bodies[0]}
    for name in ("r", "s"):
        shares = named[name]["probabilities"]
        each = [one["probability"] for one in shares] if api == "decisions" else shares.values()
        assert sum(each) == pytest.approx(1, abs=3e-4)


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
    assert (counted["requests"], counted["billed"], counted["questions"]) == (2, 2, 4)


Change = Callable[[dict[str, Any]], object]


def first(body: dict[str, Any], index: int) -> dict[str, Any]:
    """The question that stands there."""
    questions = body["questions"]
    return list(questions.values())[index] if isinstance(questions, dict) else questions[index]


REFUSED: list[tuple[DecisionApi, Change]] = [
    *((api, lambda body: body.update(temprature=1)) for api in EXAMPLES),
    *((api, lambda body: body.pop("questions")) for api in EXAMPLES),
    *((api, lambda body: body["questions"].clear()) for api in EXAMPLES),
    *((api, lambda body: first(body, 0).update(foo=1)) for api in EXAMPLES),
    *((api, lambda body: first(body, 0).update(type="box")) for api in EXAMPLES),
    ("decisions", lambda body: body.update(input={"a": "b"})),
    ("decisions", lambda body: body.update(safety_identifier="x" * 129)),
    ("decisions", lambda body: first(body, 0).update(instructions=None)),
    ("decisions", lambda body: first(body, 0).update(name="r")),
    (
        "decisions",
        lambda body: body["questions"].extend([{"type": "predicate", "instructions": "x"}] * 398),
    ),
    ("decisions", lambda body: first(body, 1).update(choices=[{"value": "only"}])),
    (
        "decisions",
        lambda body: first(body, 1).update(choices=[{"value": str(i)} for i in range(256)]),
    ),
    ("decisions", lambda body: first(body, 1).update(choices=[{"value": True}, {"value": True}])),
    (
        "decisions",
        lambda body: first(body, 2).update(levels=[{"label": str(i)} for i in range(11)]),
    ),
    ("systemone", lambda body: body.update(state=5)),
    ("systemone", lambda body: body["questions"].update(n={"type": "noul"})),
    ("systemone", lambda body: first(body, 1).update(criteria=["a", "b"])),
    ("systemone", lambda body: first(body, 1).update(criteria={str(i): None for i in range(256)})),
    ("systemone", lambda body: first(body, 2).update(criteria=["one"])),
    ("systemone", lambda body: first(body, 2).update(criteria=["level"] * 11)),
    ("sglang", lambda body: body.update(temperature="1")),
    ("sglang", lambda body: body.update(chat_template_kwargs={"enable_thinking": True})),
    ("sglang", lambda body: first(body, 0).update(id="r")),
    ("sglang", lambda body: first(body, 1).update(options=[{"name": str(i)} for i in range(27)])),
    ("sglang", lambda body: first(body, 2).update(levels=["level"] * 11)),
]


@pytest.mark.parametrize(("api", "change"), REFUSED)
def test_what_an_endpoint_does_not_know_is_refused(api: DecisionApi, change: Change) -> None:
    """A field that is unknown, missing, of another type or outside its limits, in the endpoint's
    own words, and nothing is billed.
    """
    body = copy.deepcopy(EXAMPLES[api]["request"])
    change(body)
    with Server(app(api)) as server:
        answer = ask(server, api, body)
        assert stats(server)["billed"] == 0
    assert answer.status_code == (422 if api == "systemone" else 400)
    error = answer.json()
    if api == "systemone":
        assert error["detail"][0].keys() >= {"loc", "msg", "type"}
        assert error["detail"][0]["loc"][0] == "body"
    elif api == "decisions":
        assert error["error"].keys() == {"message", "type", "param", "code"}
        assert answer.headers["x-request-id"]
    else:
        assert error.keys() == {"object", "message", "type", "param", "code"}
