"""`models test` against servers that honour, ignore, refuse and spoil settings."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError, ModelError
from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows


class Honest(Simulated):
    """Honours everything: schema, seed, temperature and limit; its verdicts are the simulated
    model's.
    """

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer the requests of the test as a good endpoint does."""
        reply = await super().complete(request, unsupported_parameters=unsupported_parameters)
        text, limit = request.messages[-1].content, request.max_tokens or 10_000
        if request.response_format and "kel" in json.dumps(request.response_format):
            properties = request.response_format["json_schema"]["schema"]["properties"]
            return replace(
                reply, text=json.dumps({name: one["enum"][0] for name, one in properties.items()})
            )
        if text.startswith("Invent"):
            return replace(reply, text=self.sentence(request))
        if text.startswith("Tell a long story"):
            return replace(reply, text="word " * limit, tokens_out=limit, finish_reason="length")
        return reply

    def sentence(self, request: Request) -> str:
        """A text that only the seed decides, and nothing at temperature 0."""
        drawn = request.repeat if request.temperature else "likeliest"
        return f"A newt, {hashlib.sha256(str(drawn).encode()).hexdigest()[:8]}."


class Restless(Honest):
    """Takes every parameter and heeds none: another text each time, as long as it likes."""

    calls = 0

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer as if the request had its messages only."""
        plain = Request(messages=request.messages, max_tokens=200)
        reply = await super().complete(plain, unsupported_parameters=unsupported_parameters)
        return replace(reply, finish_reason="stop")

    def sentence(self, request: Request) -> str:
        """Another one each time."""
        self.calls += 1
        return f"A newt, {self.calls}."


def report(
    model: Simulated,
    output: pytest.CaptureFixture[str],
    *arguments: str,
    faults: str = "",
    name: str = "m",
) -> dict[str, Any]:
    """Run the command against the served model, and return its JSON."""
    with Server(make_app(model, Faults.parse(faults))) as server:
        main(["models", "test", f"{name}@{server.base_url}", *arguments, "--json"])
    body: dict[str, Any] = json.loads(output.readouterr().out)
    body["outcomes"] = {check["setting"]: check["outcome"] for check in body["checks"]}
    return body


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without keys, in an empty folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for variable in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "JUDGEWRIGHT_API_KEY",
        "JUDGEWRIGHT_MODELS",
    ):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


REFUSING = "refuse=temperature+max_tokens+logprobs+seed+response_format,429=0.2"
HONOURED = dict.fromkeys(
    ("JSON schema", "temperature", "seed", "log-probabilities", "max_tokens"), "honoured"
)
ENDPOINTS: dict[str, tuple[type[Simulated], str, dict[str, str]]] = {
    "honours everything": (Honest, "", HONOURED),
    "ignores everything": (
        *(Restless, ""),
        {**dict.fromkeys(HONOURED, "ignored"), "temperature": "cannot tell"},
    ),
    "refuses everything": (
        *(Honest, REFUSING),
        # The limit's other name is what is left of it.
        {**dict.fromkeys(list(HONOURED)[:4], "refused"), "max_completion_tokens": "honoured"},
    ),
}


@pytest.mark.parametrize("case", ENDPOINTS)
def test_what_an_endpoint_makes_of_each_setting(
    capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """Each by name; where it never answers with an error, only its answers tell."""
    model, faults, expected = ENDPOINTS[case]
    body = report(model(), capsys, faults=faults)
    always = {"reasoning tokens": "cannot tell", "usage": "honoured"}
    assert body["outcomes"] == {**expected, **always}
    if case == "honours everything":
        assert (body["rows"], body["readable"], body["unreadable"]) == (6, 6, "")
        assert (body["thousand_rows"], body["cost"]) == (None, None)  # nobody knows its price
        assert list(Path().iterdir()) == []  # it makes no workspace


def test_plan_and_bench_say_what_a_test_found(capsys: pytest.CaptureFixture[str]) -> None:
    """What single replies do not show, such as the seed; of log-probabilities only where they are
    asked for.
    """
    write_demo_rows(Path("rows.jsonl"), documents=30)
    with Server(make_app(Restless(), Faults.parse(""))) as server:
        model = f"m@{server.base_url}"
        judge = ("groundedness", "rows.jsonl", "--model", model)

        def notes(*words: str) -> str:
            main([*words, "--json"])
            return " ".join(json.loads(capsys.readouterr().out)["notes"])

        main(["models", "test", model, "--json"])
        assert (
            "not kept for plan and bench: there is no workspace here yet" in capsys.readouterr().err
        )
        main(["bench", "groundedness", "rows.jsonl", "--model", "simulated"])  # makes the workspace
        capsys.readouterr()
        assert "`judgewright models test" in notes(
            "optimize", "--plan", *judge, "--objective", "raise precision"
        )
        main(["models", "test", model, "--json"])
        capsys.readouterr()
        plan = notes("optimize", "--plan", *judge, "--objective", "raise precision")
        found = r"ignored by the endpoint, as `models test` found on \d{4}-\d\d-\d\d: "
        assert re.search(rf"{found}JSON schema, seed, max_tokens( |$)", plan)
        assert "`judgewright models test" not in plan
        main(["bench", *judge])
        assert re.search(rf"{found}JSON schema, seed, max_tokens\n", capsys.readouterr().out)
        tok = notes(
            "optimize", "--plan", *judge, "--objective", "raise precision", "--confidence", "tok"
        )
        assert re.search(rf"{found}JSON schema, seed, log-probabilities, max_tokens( |$)", tok)
    Path(".judgewright/model-tests.json").write_text("[]")
    with pytest.raises(SystemExit):
        main(["optimize", "--plan", *judge, "--objective", "raise precision"])
    assert "model-tests.json cannot be read" in capsys.readouterr().err


def test_a_reasoner_is_told_how_much_it_thinks(capsys: pytest.CaptureFixture[str]) -> None:
    """With the usual 512 tokens nothing but thoughts come back; with room there are verdicts."""
    thinking = "reasoning=2500,refuse=max_tokens+temperature"
    body = report(Honest(), capsys, faults=thinking)
    assert body["readable"] == 0
    assert body["unreadable"].startswith("truncated: ")
    seed = next(check for check in body["checks"] if check["setting"] == "seed")
    assert (seed["outcome"], "of reasoning; raise max_tokens" in seed["reason"]) == (
        "cannot tell",
        True,
    )
    Path("models.yaml").write_text("")
    body = report(Honest(), capsys, "--max-tokens", "4000", faults=thinking)
    assert (body["readable"], body["reasoning"]) == (6, 2500.0)
    assert body["outcomes"]["reasoning tokens"] == "honoured"


def test_the_simulated_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    """It keeps to the schema of a verdict alone, and draws nothing."""
    body = report(Simulated(), capsys, name="simulated")
    assert body["simulated"] is True
    assert body["outcomes"]["JSON schema"] == "ignored"
    assert body["outcomes"]["log-probabilities"] == "honoured"
    assert body["outcomes"]["max_tokens"] == "honoured"
    assert (body["readable"], body["thousand_rows"]) == (6, 0.0)


def test_a_named_model_is_tested_with_its_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A temperature that is left out is said; the price is the one of the settings."""
    own = tmp_path / "config" / "judgewright" / "models.yaml"
    own.parent.mkdir(parents=True)
    with Server(make_app(Honest())) as server:
        settings = "temperature: omit, price: {input: 1, output: 10}, timeout: 5, model: small"
        own.write_text(f'mine: {{base_url: "{server.base_url}", {settings}}}\n')
        main(["models", "test", "mine", "--json"])
        body = json.loads(capsys.readouterr().out)
        main(["models", "test", "mine"])
    assert (body["name"], body["model"]) == ("mine", "small")
    assert {check["setting"]: check["outcome"] for check in body["checks"]}[
        "temperature"
    ] == "not sent"
    per_row = body["tokens_in"] * 1e-6 + body["tokens_out"] * 10e-6
    assert body["thousand_rows"] == pytest.approx(1000 * per_row)
    text = capsys.readouterr().out
    assert "temperature        not sent" in text
    assert f"a thousand such rows: ${body['thousand_rows']:.4f}" in text


def test_rows_of_a_file_and_another_judge(capsys: pytest.CaptureFixture[str]) -> None:
    """As many as were asked for."""
    lines = [{"query": "newts", "passage": f"Newt number {i}.", "label": i % 2} for i in range(9)]
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    body = report(
        Honest(), capsys, "--rows", "rows.jsonl", "--judge", "context_relevance", "--limit", "4"
    )
    assert (body["rows"], body["readable"]) == (4, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["gpt-4o"], InputError, "the model 'gpt-4o' needs a key"),
        (["m@http://127.0.0.1:9/v1"], ModelError, "cannot be reached"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], error: type[Exception], words: str
) -> None:
    """2 for what the user can mend, 3 for the endpoint."""
    with pytest.raises(SystemExit) as left:
        main(["models", "test", *arguments])
    assert left.value.code == (2 if error is InputError else 3)
    assert words in capsys.readouterr().err


def test_each_check_is_said_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    """Before it is asked about, and once it is known; the table comes at the end."""
    with Server(make_app(Honest(), Faults.parse(""))) as server:
        main(["models", "test", f"m@{server.base_url}"])
    told = capsys.readouterr().err.splitlines()
    begun = [
        line.partition(" about ")[2]
        for line in told
        if line.startswith(f"asking m at {server_of(told)}")
    ]
    assert [line.partition(",")[0] for line in begun] == [
        "6 rows of groundedness",
        "a JSON schema",
        "temperature and seed",
        "log-probabilities",
        "the token limit",
    ]
    assert any(line.startswith("  JSON schema: honoured, ") for line in told)


class Slow(Honest):
    """Takes its time for the first answer."""

    waited = False

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer late, once."""
        if not self.waited:
            self.waited = True
            await asyncio.sleep(3.0)
        return await super().complete(request, unsupported_parameters=unsupported_parameters)


def test_a_slow_model_is_never_awaited_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    """A line says what is asked of whom while the first answer is awaited."""
    with Server(make_app(Slow(), Faults.parse(""))) as server:
        main(["models", "test", f"m@{server.base_url}"])
        lines = capsys.readouterr().err.splitlines()
        assert any(
            line.startswith(f"  the test: 0/1 (asking m at {server.base_url}") for line in lines
        )


def server_of(lines: list[str]) -> str:
    """The address in the first line."""
    return lines[0].split()[3]
