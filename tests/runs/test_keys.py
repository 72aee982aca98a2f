"""Which key belongs to which origin, and what is said where one is missing."""

from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Origin
from judgewright.runs.config import Environment, open_client, read_environment

ACME, OTHER, OPENAI = (
    "https://api.acme.example/v1",
    "https://other.example/v1",
    "https://api.openai.com/v1",
)
LOCAL = "http://127.0.0.1:8000/v1"


def key(environment: Environment, url: str) -> str | None:
    """The key that a request to an address carries."""
    binding = environment.keyring().binding(Origin.of(url))
    return binding.key if binding else None


def with_file(folder: Path, text: str, **variables: str) -> Environment:
    """Return the environment of a user with a `models.yaml`."""
    path = folder / "models.yaml"
    path.write_text(text)
    return read_environment({"JUDGEWRIGHT_MODELS": str(path), **variables})


def test_openais_key_goes_to_its_base_url_and_nowhere_else() -> None:
    """The hosted one unless OPENAI_BASE_URL says otherwise; no longer to every port of this
    machine.
    """
    hosted = Environment(openai_key="k")
    assert key(hosted, OPENAI) == "k"
    assert key(hosted, "https://API.openai.com:443/v2") == "k"
    assert [
        key(hosted, url)
        for url in (ACME, LOCAL, "http://api.openai.com/v1", "https://api.openai.com:444/")
    ] == [None] * 4
    elsewhere = Environment(openai_key="k", base_url=ACME)
    assert (key(elsewhere, ACME), key(elsewhere, OPENAI)) == ("k", None)


def test_the_spare_key_goes_to_the_one_address_that_the_command_names() -> None:
    """Not to what nobody named, nor to what has a key of its own."""
    mine = Environment(own_key="own", openai_key="k")
    assert key(mine, ACME) is None
    assert key(mine.naming(f"m@{ACME}"), ACME) == "own"
    assert key(mine.naming(f"m@{ACME}"), OTHER) is None
    assert key(mine.naming(f"m@{ACME}", f"n@{ACME}", "gpt-4o", None, "simulated"), ACME) == "own"
    assert key(mine.naming(f"m@{ACME}", f"n@{OPENAI}"), OPENAI) == "k"
    assert key(mine.naming(f"m@{ACME}", f"n@{OPENAI}"), ACME) == "own"
    assert key(mine.naming(origins=["https://api.acme.example"]), ACME) == "own"


def test_the_spare_key_is_not_shared_out_between_two(tmp_path: Path) -> None:
    """Two addresses without a key of their own are refused, unless a variable or the file settles
    it.
    """
    two = f"m@{ACME}", f"o@{OTHER}"
    with pytest.raises(InputError, match="JUDGEWRIGHT_API_KEY is one key") as refused:
        Environment(own_key="own").naming(*two)
    assert (
        'api.acme.example: {base_url: "https://api.acme.example/v1", key_variable:'
        " API_ACME_EXAMPLE_KEY}" in str(refused.value.hint)
    )
    assert key(Environment(own_key="own", own_url=OTHER).naming(*two), OTHER) == "own"
    assert key(Environment(own_key="own", own_url=OTHER).naming(*two), ACME) is None
    listed = with_file(
        tmp_path, f"acme: {{base_url: {ACME}, key_variable: A}}", A="a", JUDGEWRIGHT_API_KEY="own"
    )
    assert (key(listed.naming(*two), ACME), key(listed.naming(*two), OTHER)) == ("a", "own")
    Environment().naming(*two)


def test_the_file_comes_before_the_environment(tmp_path: Path) -> None:
    """An entry without a key keeps every key away; one whose variable is not set sends none
    either.
    """
    text = f"a: {{base_url: {OPENAI}, key_variable: A}}\nlocal: {{base_url: {LOCAL}}}\n"
    given = {"OPENAI_API_KEY": "k", "JUDGEWRIGHT_API_KEY": "own"}
    listed = with_file(tmp_path, text, A="a", **given)
    assert key(listed, OPENAI) == "a"
    assert key(listed.naming(f"m@{LOCAL}"), LOCAL) is None
    assert key(with_file(tmp_path, text, **given), OPENAI) is None


def test_an_address_that_nobody_named_is_not_opened(tmp_path: Path) -> None:
    """Whatever command forgot to name it; this machine alone is let in where there is no key to
    lose.
    """
    with pytest.raises(InputError, match="nothing was sent"):
        open_client(f"m@{ACME}", Environment())
    open_client(f"m@{ACME}", Environment().naming(f"m@{ACME}")).close()
    open_client(f"m@{ACME}", Environment(own_url=ACME)).close()
    open_client(f"m@{ACME}", with_file(tmp_path, f"acme: {{base_url: {ACME}}}")).close()
    open_client(f"m@{LOCAL}", Environment()).close()
    for held in (Environment(openai_key="k"), Environment(own_key="k")):
        with pytest.raises(InputError, match="nothing was sent"):
            open_client(f"m@{LOCAL}", held)


@pytest.mark.parametrize(
    ("environment", "url", "words"),
    [
        (
            Environment(openai_key="k"),
            OPENAI,
            "refused the key in OPENAI_API_KEY (OPENAI_BASE_URL)",
        ),
        (Environment(), OPENAI, "put the key of https://api.openai.com into OPENAI_API_KEY"),
        (
            Environment(),
            ACME,
            "put the key of https://api.acme.example into JUDGEWRIGHT_API_KEY, or add this line to",
        ),
        (
            Environment(own_key="k", own_url=OTHER),
            ACME,
            "as JUDGEWRIGHT_API_KEY belongs to JUDGEWRIGHT_BASE_URL; add",
        ),
        (
            Environment(own_key="k").naming(f"m@{ACME}"),
            ACME,
            "refused the key in JUDGEWRIGHT_API_KEY (the command)",
        ),
    ],
)
def test_a_missing_or_refused_key_is_named(environment: Environment, url: str, words: str) -> None:
    """The variable, and where it was bound."""
    assert words in environment.keyring().what_to_do(url)


def test_an_entry_whose_key_is_missing_is_named_with_its_line(tmp_path: Path) -> None:
    """File, line and variable; an entry without a variable is told to name one."""
    text = f"\nacme: {{base_url: {ACME}, key_variable: ACME_KEY}}\nother: {{base_url: {OTHER}}}"
    ring = with_file(tmp_path, text).keyring()
    assert "into ACME_KEY (" in ring.what_to_do(ACME)
    assert "models.yaml, line 2)" in ring.what_to_do(ACME)
    assert "models.yaml, line 3 has no key_variable" in ring.what_to_do(OTHER)


def test_only_what_no_file_names_needs_the_option_again(tmp_path: Path) -> None:
    """The line that goes on with a run names what the first command named."""
    listed = with_file(tmp_path, f"acme: {{base_url: {ACME}}}")
    assert listed.naming(f"m@{ACME}", "gpt-4o").keyring().flags() == ""
    assert (
        listed.naming(f"m@{OTHER}", f"n@{ACME}").keyring().flags()
        == " --allow-origin https://other.example"
    )
    assert Environment().naming(f"m@{LOCAL}").keyring().flags() == ""


def test_a_base_url_of_the_environment_that_is_none_is_named() -> None:
    """By its variable."""
    with pytest.raises(InputError, match="JUDGEWRIGHT_BASE_URL: "):
        Environment(own_url="acme.example").keyring()
    with pytest.raises(InputError, match="OPENAI_BASE_URL: "):
        Environment(base_url="acme.example").naming("gpt-4o").keyring()


CLAUDE = "litellm/anthropic/claude-sonnet-4-5"
ANTHROPIC = "https://api.anthropic.com"


def test_a_provider_is_named_by_the_command_or_the_users_file(tmp_path: Path) -> None:
    """Its key alone does not name it, and JUDGEWRIGHT_API_KEY does not go there."""
    pytest.importorskip("judgewright.plugins.litellm")
    keyed = Environment(variables={"ANTHROPIC_API_KEY": "a"}, own_key="spare")
    with pytest.raises(InputError, match="nothing was sent"):
        keyed.require_named(CLAUDE, who="run r")
    commanded = keyed.naming(CLAUDE)
    commanded.require_named(CLAUDE, who="run r")
    assert key(commanded, ANTHROPIC) == "a"
    assert commanded.keyring().flags() == f" --allow-origin {ANTHROPIC}"
    assert key(Environment(own_key="spare").naming(CLAUDE), ANTHROPIC) is None
    for entry in (f"claude: {{model: {CLAUDE}}}", f"{CLAUDE}: {{temperature: 0}}"):
        listed = with_file(tmp_path, entry, ANTHROPIC_API_KEY="a")
        listed.require_named(CLAUDE, who="run r")
        assert key(listed, ANTHROPIC) == "a"
        assert listed.naming(CLAUDE).keyring().flags() == ""
