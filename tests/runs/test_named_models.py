"""Models with names: the user's file and the workspace's, merged, and what reaches the endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.models import OMIT, ModelSettings, Price
from judgewright.runs.config import (
    Environment,
    ModelEntry,
    merge_entries,
    read_environment,
    read_workspace_models,
)

ACME = "https://api.acme.example/v1"
FULL = f"""\
# my models
cheap:
  base_url: {ACME}
  key_variable: ACME_KEY
  model: vendor/small-3
  extra_body: {{reasoning_effort: low, chat_template_kwargs: {{enable_thinking: False}}, order: [a, 1.5, null, "yes"]}}
  headers: {{X-Team: 12}}
  temperature: omit
  max_tokens: 4000
  optimizer_max_tokens: 9000
  timeout: 12.5
  concurrency: 8
  requests_per_minute: 60
  tokens_per_minute: 90000
  price: {{input: 1, output: 2.5, cached: 0.1}}
"""  # noqa: E501


def user(folder: Path, text: str, **variables: str) -> Environment:
    """Return the environment of a user with this file, in a workspace beside it."""
    (folder / "own.yaml").write_text(text)
    environment = read_environment({"JUDGEWRIGHT_MODELS": str(folder / "own.yaml"), **variables})
    (folder / "work").mkdir(exist_ok=True)
    return environment.in_workspace(folder / "work")


def test_every_setting_is_read_with_its_type(tmp_path: Path) -> None:
    """Numbers, booleans and null as YAML 1.2 has them; quotes make text."""
    named = user(tmp_path, FULL).model("cheap")
    assert (named.name, named.model, named.base_url) == ("cheap", "vendor/small-3", ACME)
    assert named.settings == ModelSettings(
        extra_body={
            "reasoning_effort": "low",
            "chat_template_kwargs": {"enable_thinking": False},
            "order": ["a", 1.5, None, "yes"],
        },
        headers={"X-Team": "12"},
        temperature=OMIT,
        max_tokens=4000,
        optimizer_max_tokens=9000,
        timeout=12.5,
        concurrency=8,
        requests_per_minute=60,
        tokens_per_minute=90000,
        price=Price(input=1, output=2.5, cached=0.1),
    )
    assert named.sources["max_tokens"] == f"{tmp_path / 'own.yaml'}, line 9"


def test_the_workspace_sets_what_the_user_leaves_open(tmp_path: Path) -> None:
    """Field by field the user's file wins; each field knows its line."""
    environment = user(tmp_path, f"cheap: {{base_url: {ACME}, max_tokens: 50}}\n")
    (tmp_path / "work" / "models.yaml").write_text(
        "cheap:\n  model: vendor/small-3\n  max_tokens: 4000\n  extra_body: {reasoning_effort:"
        " low}\n"
    )
    named = environment.model("cheap")
    assert (named.model, named.base_url) == ("vendor/small-3", ACME)
    assert named.settings == ModelSettings(max_tokens=50, extra_body={"reasoning_effort": "low"})
    assert named.sources["max_tokens"] == f"{tmp_path / 'own.yaml'}, line 1"
    assert named.sources["extra_body"] == f"{tmp_path / 'work' / 'models.yaml'}, line 4"


ELSEWHERE = "a gateway may take this for an address"


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("base_url: https://theirs.example/v1", "base_url: a file in a workspace does not say"),
        ("key_variable: OPENAI_API_KEY", "key_variable: a file in a workspace does not say"),
        ("headers: {X-Api-Key: CANARY}", "headers.X-Api-Key: a secret header"),
        ("headers: {X-Forwarded-Host: h}", f"headers.X-Forwarded-Host: {ELSEWHERE}"),
        ("headers: {Helicone-Target-URL: h}", f"headers.Helicone-Target-URL: {ELSEWHERE}"),
        ("extra_body: {api_base: h}", f"extra_body.api_base: {ELSEWHERE}"),
    ],
)
def test_a_workspace_never_says_where_requests_go_or_with_which_key(
    tmp_path: Path, field: str, problem: str
) -> None:
    """Nor leads a gateway elsewhere; the message has file, line and field, and no value."""
    path = tmp_path / "models.yaml"
    path.write_text(f"cheap:\n  max_tokens: 3\n  {field}\n")
    with pytest.raises(InputError) as refused:
        read_workspace_models(path)
    assert f"models.yaml, line 3, cheap.{problem}" in str(refused.value)
    assert "CANARY" not in f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize("own", ["", "judge: {temperature: 0}\n"])
def test_a_workspace_does_not_turn_a_name_to_a_provider_of_litellm(
    tmp_path: Path, own: str
) -> None:
    """That is an address; under an address or a model of the user's own, such a line changes no
    address.
    """
    pytest.importorskip("judgewright.plugins.litellm")
    environment = user(tmp_path, own, OPENAI_BASE_URL=ACME, ANTHROPIC_API_KEY="k")
    (tmp_path / "work" / "models.yaml").write_text("judge: {model: litellm/anthropic/claude-x}\n")
    with pytest.raises(
        InputError, match=r"line 1, judge\.model: a file in a workspace does not say where"
    ):
        environment.model("judge")
    (tmp_path / "own.yaml").write_text(f"judge: {{base_url: {ACME}}}\n")
    assert environment.model("judge").base_url == ACME


def test_a_name_that_only_the_workspace_has_is_asked_at_the_default_address_or_not_at_all(
    tmp_path: Path,
) -> None:
    """Whoever has neither an own address nor OpenAI's key is told how to bind it."""
    shared = "team-judge: {model: small-3, max_tokens: 900}\n"
    for variables in ({"OPENAI_API_KEY": "k"}, {"OPENAI_BASE_URL": ACME}):
        environment = user(tmp_path, "", **variables)
        (tmp_path / "work" / "models.yaml").write_text(shared)
        named = environment.model("team-judge")
        assert (named.model, named.base_url) == ("small-3", environment.base_url)
        assert named.settings.max_tokens == 900
    with pytest.raises(InputError, match="only the workspace names 'team-judge'") as refused:
        user(tmp_path, "").model("team-judge")
    assert "judgewright models add team-judge" in str(refused.value.hint)


def test_a_quick_try_and_an_unknown_name_have_no_settings(tmp_path: Path) -> None:
    """`NAME@URL` means what it says, whatever the files hold."""
    environment = user(tmp_path, FULL, OPENAI_API_KEY="k")
    quick = environment.model(f"cheap@{ACME}")
    assert (quick.model, quick.base_url, quick.settings) == ("cheap", ACME, ModelSettings())
    plain = environment.model("gpt-4o")
    assert (plain.model, plain.base_url, plain.settings) == (
        "gpt-4o",
        "https://api.openai.com/v1",
        ModelSettings(),
    )


def test_a_run_keeps_the_settings_it_began_with(tmp_path: Path) -> None:
    """Those that may change an answer; time limits, headers and prices are today's."""
    environment = user(tmp_path, FULL)
    kept = {"cheap": {"max_tokens": 77}}
    settings = environment.for_run(kept).settings("cheap")
    assert settings.answering() == {"max_tokens": 77}
    assert (settings.timeout, settings.concurrency) == (12.5, 8)
    assert environment.for_run(None).settings("cheap").answering() == {}


VALUES = st.dictionaries(
    st.sampled_from(["model", "max_tokens", "timeout", "headers"]), st.integers(1, 99)
)


@given(mine=VALUES, theirs=VALUES)
def test_merging_takes_each_field_from_the_user_if_it_is_there(
    mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """And loses none."""

    def entry(values: dict[str, Any], file: str) -> ModelEntry:
        return ModelEntry(
            name="m", values=values, sources=dict.fromkeys(values, file), location=file
        )

    own, shared = entry(mine, "own"), entry(theirs, "shared")
    merged = merge_entries(own, shared)
    assert merged is not None
    assert set(merged.values) == set(merged.sources) == {*mine, *theirs}
    for field, value in merged.values.items():
        assert (value, merged.sources[field]) == (
            (mine[field], "own") if field in mine else (theirs[field], "shared")
        )
    assert merge_entries(own, None) is own
    assert merge_entries(None, shared) is shared
