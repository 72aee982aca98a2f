"""`judgewright models list | add | show`, as a user with a configuration folder runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError
from judgewright.runs.cli import main
from judgewright.runs.config import add_entry, read_user_models

ACME = "https://api.acme.example/v1"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The user's file, which is not there yet."""
    return tmp_path / "config" / "judgewright" / "models.yaml"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command as the user; return the exit code, the output and the messages."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (
        "JUDGEWRIGHT_MODELS",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "JUDGEWRIGHT_API_KEY",
        "ACME_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            main(["models", *arguments])
        except SystemExit as left:
            code = int(left.code or 0)
        return code, *capsys.readouterr()

    return call


def shown(run: Run, name: str) -> dict[str, Any]:
    """Return what `list NAME --json` says."""
    code, out, err = run("list", name, "--json")
    assert code == 0, err
    return json.loads(out)


def test_what_is_added_is_shown_with_its_source_and_never_a_key(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option of `add` arrives; the key's variable is set or not."""
    arguments = ["--base-url", ACME, "--key-variable", "ACME_KEY", "--model", "small-3"]
    for setting in (
        'headers={"X-Team": "blue"}',
        'extra_body={"reasoning_effort": "low"}',
        "temperature=0.5",
        "max_tokens=4000",
        "optimizer_max_tokens=9000",
        "timeout=30",
        "concurrency=8",
        "price=1/2.5/.1",
        "requests_per_minute=60",
        "tokens_per_minute=9000",
    ):
        arguments += ["--set", setting]
    assert run("add", "cheap", *arguments)[0] == 0
    assert own.stat().st_mode & 0o777 == 0o600
    body = shown(run, "cheap")
    assert (body["model"], body["base_url"], body["key_variable"]) == ("small-3", ACME, "ACME_KEY")
    assert body["settings"] == {
        "extra_body": {"reasoning_effort": "low"},
        "headers": {"X-Team": "blue"},
        "temperature": 0.5,
        "max_tokens": 4000,
        "optimizer_max_tokens": 9000,
        "timeout": 30.0,
        "concurrency": 8,
        "requests_per_minute": 60,
        "tokens_per_minute": 9000,
        "price": {"input": 1.0, "output": 2.5, "cached": 0.1},
    }
    assert body["key_set"] is False
    assert "ACME_KEY" in body["problem"]
    monkeypatch.setenv("ACME_KEY", "sk-CANARY")
    assert (shown(run, "cheap")["key_set"], shown(run, "cheap")["problem"]) == (True, "")
    for command in (("list", "cheap"), ("list",), ("list", "--json")):
        code, out, err = run(*command)
        assert code == 0
        assert "ACME_KEY" in out
        assert "CANARY" not in out + err
    assert f"{own}, line" in run("list", "cheap")[1]


def test_comments_and_a_link_stay_and_other_entries_too(
    run: Run, own: Path, tmp_path: Path
) -> None:
    """The entry comes below, whether or not the last line ended."""
    kept = tmp_path / "dotfiles.yaml"
    kept.write_text(f"# mine\nacme: {{base_url: {ACME}}}  # the gateway")
    kept.chmod(0o640)
    own.parent.mkdir(parents=True)
    own.symlink_to(kept)
    assert run("add", "fast", "--set", "max_tokens=9")[0] == 0
    assert kept.read_text().startswith(
        f"# mine\nacme: {{base_url: {ACME}}}  # the gateway\nfast:\n"
    )
    assert own.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in read_user_models(own)] == ["acme", "fast"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--base-url", ACME, "--key-variable", "sk-CANARY"],
            "line 3, new.key_variable: this is not the name of an",
        ),
        (["--set", 'headers={"Authorization": "CANARY"}'], "new.headers.Authorization: a secret"),
        (["--set", "headers"], "--set 'headers' is not FIELD=VALUE"),
        (["--set", "extra_body=[1]"], "extra_body is not a list of names"),
        (["--set", "extra_body={"], "extra_body is not a list of names"),
        (["--set", 'extra_body={"messages": []}'], "new.extra_body.messages: this field cannot"),
        (["--set", "price=1"], "the price '1' is not INPUT/OUTPUT"),
        (["--set", "price=1/x"], "the price '1/x' is not INPUT/OUTPUT"),
        (["--set", "temperature=hot"], "new.temperature: "),
        (["--set", "max_tokens=0"], "new.max_tokens: 0 is below 1"),
        (["--set", "colour=red"], "colour"),
        (["--key-variable", "ACME_KEY"], "new: base_url is missing"),
    ],
)
def test_what_cannot_be_added_leaves_the_file_as_it_was(
    run: Run, own: Path, arguments: list[str], words: str
) -> None:
    """With exit code 2, and no key in the message."""
    own.parent.mkdir(parents=True)
    own.write_text("# mine\n")
    code, out, err = run("add", "new", *arguments)
    assert code == 2
    assert words in err
    assert "CANARY" not in out + err
    assert own.read_text() == "# mine\n"


def test_a_taken_name_and_a_file_in_one_line_are_told(run: Run, own: Path) -> None:
    """The entry can be added by hand then."""
    own.parent.mkdir(parents=True)
    own.write_text('{"acme": {"base_url": "https://api.acme.example/v1"}}\n')
    assert "line 1: there is a model 'acme' already" in run("add", "acme")[2]
    code, _, err = run("add", "fast", "--set", "max_tokens=9")
    assert code == 2
    assert "by hand" in err
    assert "max_tokens: 9" in err
    assert list(read_user_models(own)[0].values) == ["base_url"]


def test_a_name_of_the_workspace_is_listed_with_what_is_missing(run: Run) -> None:
    """Until the user binds it."""
    Path("models.yaml").write_text("team: {model: small-3, max_tokens: 900}\n")
    (body,) = json.loads(run("list", "--json")[1])["models"]
    assert (body["name"], body["model"]) == ("team", None)
    assert "only the workspace names 'team'" in body["problem"]
    assert run("add", "team", "--base-url", "http://127.0.0.1:9/v1")[0] == 0
    body = shown(run, "team")
    assert (body["model"], body["base_url"], body["settings"]) == (
        "small-3",
        "http://127.0.0.1:9/v1",
        {"max_tokens": 900},
    )
    assert body["sources"]["max_tokens"] == f"{Path('models.yaml').resolve()}, line 1"


def test_an_empty_list_says_how_to_begin(run: Run) -> None:
    """And a name that nobody bound is a model at OPENAI_BASE_URL."""
    assert "judgewright models add" in run("list")[1]
    assert shown(run, "gpt-4o")["base_url"] == "https://api.openai.com/v1"


def test_a_user_without_a_home_is_told_where_to_put_the_file() -> None:
    """As in a container."""
    with pytest.raises(InputError, match="no home folder"):
        add_entry(None, "a", {})
