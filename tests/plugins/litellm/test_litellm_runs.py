"""Judge and optimizer at two providers with two keys, one of them through LiteLLM: every request
where it belongs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Origin, Prices
from judgewright.plugins.litellm.litellm_model import LiteLLMModel
from judgewright.runs.cli import main
from judgewright.runs.config import open_model, read_environment
from judgewright.runs.demo import write_demo_rows

from ...runs.providers import Provider, serving
from .foreign_providers import Dialect, providing

KEY_A, KEY_B = "sk-test-CANARY-aaaa1111", "sk-test-CANARY-bbbb2222"
MODELS: dict[Dialect, str] = {
    "anthropic": "litellm/anthropic/claude-sonnet-4-5",
    "gemini": "litellm/gemini/gemini-x",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows, and a user with two keys and a few that belong elsewhere."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("KEY_A", KEY_A)
    monkeypatch.setenv("KEY_B", KEY_B)
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-test-CANARY-elsewhere")
    return tmp_path


def bind(folder: Path, **entries: dict[str, Any]) -> None:
    """Write the user's file."""
    (folder / "config.yaml").write_text(json.dumps(entries))  # JSON is YAML


def run(folder: Path, *words: str) -> int:
    """Run a command in the folder and return its exit code."""
    try:
        main([*words, "--workspace", str(folder), "--json"])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize("judge", ["foreign", "plain"])
def test_a_whole_walk_with_two_providers_and_two_keys(
    folder: Path, capsys: pytest.CaptureFixture[str], dialect: Dialect, judge: str
) -> None:
    """The judge's rows go to the judge's host with its key, the optimizer's requests to the other
    with the other.
    """
    with (
        providing(dialect, KEY_A) as foreign,
        serving(Provider(demands=f"Bearer {KEY_B}")) as plain,
    ):
        bind(
            folder,
            foreign={"model": MODELS[dialect], "base_url": foreign.url, "key_variable": "KEY_A"},
            plain={"model": "served", "base_url": plain.url, "key_variable": "KEY_B"},
        )
        optimizer = {"foreign": "plain", "plain": "foreign"}[judge]
        words = (
            "optimize",
            "groundedness",
            str(folder / "rows.jsonl"),
            "--model",
            judge,
            "--optimizer-model",
            optimizer,
        )
        objective = (
            "--objective",
            "Precision matters most: do not call unsupported statements grounded.",
            "--target",
            "precision",
        )
        assert run(folder, *words, *objective, "--steps", "1", "--gate-anyway") in (0, 1)
        body = json.loads(capsys.readouterr().out)
        asked_foreign = [json.dumps(seen.body) for seen in foreign.seen]
        assert {True} == {KEY_A in str(seen.headers) for seen in foreign.seen}
    assert set(plain.seen) == {f"Bearer {KEY_B}"}
    assert KEY_B not in str(foreign.seen)
    assert "CANARY-elsewhere" not in str(foreign.seen)
    judged = [
        text
        for text in asked_foreign
        if "You judge groundedness" in text and "You write a loss" not in text
    ]
    optimizing = [
        text for text in asked_foreign if "You write a loss" in text or "IMPROVED_VARIABLE" in text
    ]
    if judge == "foreign":
        assert len(judged) == len(asked_foreign) > 100
        assert len(plain.seen) < 20
    else:
        assert optimizing
        assert len(asked_foreign) < 20
        assert len(plain.seen) > 100
    assert len(foreign.seen) + len(plain.seen) == body["calls"]
    (events,) = [shown(folder, body["run"], capsys)]
    (loss,) = [event["payload"] for event in events if event["kind"] == "loss"]
    assert loss["written_by"] != "default", loss["refusals"]
    assert next(event for event in events if event["kind"] == "step")["payload"]["criteria"]


@pytest.mark.parametrize(
    ("dialect", "variable", "origin"),
    [
        ("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"),
    ],
)
def test_the_usual_key_of_a_provider_belongs_to_its_origin_alone(
    dialect: Dialect, variable: str, origin: str
) -> None:
    """Without an entry in `models.yaml`; a missing one is named before anything is sent."""
    environment = read_environment({variable: KEY_A, "JUDGEWRIGHT_API_KEY": KEY_B})
    named = environment.naming(MODELS[dialect])
    model = open_model(MODELS[dialect], named)
    assert isinstance(model, LiteLLMModel)
    assert str(Origin.of(model.endpoint)) == origin
    ring = named.keyring()
    bound = ring.binding(Origin.of(origin))
    assert bound is not None
    assert bound.key == KEY_A
    elsewhere = (
        environment.naming("m@https://gateway.example/v1")
        .keyring()
        .binding(Origin.of("https://gateway.example"))
    )
    assert elsewhere is not None
    assert elsewhere.key == KEY_B
    environment.require_keys(MODELS[dialect])
    with pytest.raises(InputError) as missing:
        read_environment({}).require_keys(MODELS[dialect])
    assert variable in (missing.value.hint or "")


def test_a_provider_asked_through_litellm_has_its_public_price() -> None:
    """By the model's own name, at the provider's own address."""
    url = "https://api.anthropic.com"
    price = Prices().cost(MODELS["anthropic"], url, 1000, 1000)
    assert price == Prices().cost("claude-sonnet-4-5", url, 1000, 1000)
    assert price


def test_the_entries_of_the_page_can_be_asked(tmp_path: Path) -> None:
    """Each opens, at its own address and with its own key."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "providers.md").read_text(
        encoding="utf-8"
    )
    file = tmp_path / "models.yaml"
    file.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    keys = {"BEDROCK_KEY": "b", "VERTEX_TOKEN": "v", "ANTHROPIC_API_KEY": "a"}
    environment = read_environment({"JUDGEWRIGHT_MODELS": str(file), **keys})
    for name in ("claude-eu", "flash", "thinker"):
        model = open_model(name, environment)
        assert isinstance(model, LiteLLMModel)
        assert model.endpoint == environment.model(name).base_url
    environment.require_keys("claude-eu", "flash", "thinker")


def test_a_provider_with_many_addresses_wants_one(folder: Path) -> None:
    """Bedrock's depends on the region."""
    with pytest.raises(InputError) as refused:
        read_environment().model("litellm/bedrock/anthropic.claude")
    assert "base_url" in (refused.value.hint or "")
    bind(
        folder,
        claude={
            "model": "litellm/bedrock/anthropic.claude",
            "base_url": "https://bedrock-runtime.eu-central-1.amazonaws.com",
            "key_variable": "KEY_A",
        },
    )
    assert isinstance(open_model("claude", read_environment()), LiteLLMModel)


def shown(folder: Path, run_id: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The events of a run."""
    run(folder, "runs", "show", run_id)
    return json.loads(capsys.readouterr().out)["events"]


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
def test_models_test_reads_a_verdict_of_a_provider(
    folder: Path, capsys: pytest.CaptureFixture[str], dialect: Dialect
) -> None:
    """One question goes to the provider in its own format, and its answer is read."""
    with providing(dialect, KEY_A) as foreign:
        bind(
            folder,
            foreign={"model": MODELS[dialect], "base_url": foreign.url, "key_variable": "KEY_A"},
        )
        assert run(folder, "models", "test", "foreign") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["verdict"]
    assert foreign.seen


def test_a_provider_in_its_own_format_has_no_interface_of_a_decision_model(folder: Path) -> None:
    """The setting is refused and not ignored, with what to do."""
    bind(folder, foreign={"model": MODELS["gemini"], "api": "systemone"})
    with pytest.raises(InputError, match="not by api: systemone") as refused:
        open_model("foreign", read_environment())
    assert "take api out" in str(refused.value.hint)
