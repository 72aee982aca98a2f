"""The user's own `models.yaml`: what is read, and how an error is told."""

from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.config import example_entry, read_user_models, user_models_path

ACME = "https://api.acme.example/v1"


def written(folder: Path, text: str) -> Path:
    """Write the file."""
    path = folder / "models.yaml"
    path.write_text(text)
    return path


def test_entries_have_a_name_an_address_and_the_name_of_a_variable(tmp_path: Path) -> None:
    """On one line or on several; a file that is not there, or empty, has none."""
    text = (
        f"acme: {{base_url: {ACME}/, key_variable: ACME_API_KEY}}\nlocal/llama-3.2:\n  base_url:"
        " http://[::1]:8000/v1\nfast: {model: your-model}\n"
    )
    one, other, fast = read_user_models(written(tmp_path, text))
    assert (fast.base_url, fast.key_variable, fast.model) == (None, None, "your-model")
    assert (one.name, one.base_url, one.key_variable) == ("acme", ACME, "ACME_API_KEY")
    assert one.location == f"{tmp_path / 'models.yaml'}, line 1"
    assert (other.name, other.base_url, other.key_variable) == (
        "local/llama-3.2",
        "http://[::1]:8000/v1",
        None,
    )
    assert read_user_models(tmp_path / "none.yaml") == read_user_models(None) == ()
    assert read_user_models(written(tmp_path, "# nothing yet\n")) == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- a\n", 1, "the file is not a list of names"),
        ("acme: https://h/v1\n", 1, "acme is not a list of names"),
        ("acme: {key_variable: K}\n", 1, "acme: base_url is missing"),
        ("acme:\n  base_url: h/v1\n", 2, "acme.base_url: .*not an http"),
        ("acme:\n  base_url:\n    - a\n", 2, "acme.base_url: a text is expected"),
        ("acme:\n  base_url:\n", 2, "acme.base_url: a text is expected"),
        ("acme:\n  base_ur: https://h/v1\n", 2, "no field 'base_ur'.* did you mean base_url"),
        (
            "acme:\n  colour: 0\n",
            2,
            "no field 'colour', the fields are base_url, path, key_variable, model, extra_body",
        ),
        (
            "acme:\n  token_per_minute: 0\n",
            2,
            "no field 'token_per_minute'.* did you mean tokens_per_minute",
        ),
        ("a:\n  temperature: hot\n", 2, "a.temperature: Input should be a valid number"),
        ("a:\n  temperature: 3\n", 2, "a.temperature: 3.0 is not between 0 and 2"),
        ("a:\n  max_tokens: 1.5\n", 2, "a.max_tokens: Input should be a valid integer"),
        ("a:\n  max_tokens: '12'\n", 2, "a.max_tokens: Input should be a valid integer"),
        ("a:\n  price: {input: 1, outputs: 2}\n", 2, "a.price.output: Field required"),
        (
            "a:\n  price: {input: -1, output: 2}\n",
            2,
            "a.price.input: Input should be greater than or equal to 0",
        ),
        ("a:\n  extra_body: 3\n", 2, "extra_body is not a list of names"),
        ("a:\n  extra_body:\n    x: 1\n    y: yes\n", 4, "a.extra_body.y: yes is unclear"),
        (
            "a:\n  extra_body:\n    x: 1\n    seed: 1\n",
            4,
            "a.extra_body.seed: this field cannot be set here",
        ),
        (
            "a:\n  extra_body:\n    api_key: sk-CANARY\n",
            3,
            "a.extra_body.api_key: no key belongs here",
        ),
        ("a:\n  extra_body: {a: &a {b: *a}}\n", 2, "a.extra_body.a: more than 300 values"),
        ('a:\n  extra_body: {a: "\\ud800"}\n', 2, "a.extra_body: this cannot be sent as JSON"),
        (
            "a:\n  extra_body: {a: 99999999999999999999}\n",
            2,
            "a.extra_body: this cannot be sent as JSON",
        ),
        (
            "a:\n  headers:\n    X-A: 1\n    Authorization: sk-CANARY\n",
            4,
            "a.headers.Authorization: a secret header",
        ),
        ("a:\n  headers:\n    x-api-key: sk-CANARY\n", 3, "a.headers.x-api-key: a secret header"),
        ("simulated: {max_tokens: 3}\n", 1, "simulated is the embedded model"),
        (
            "acme:\n  base_url: https://h/v1\n  api_key: sk-CANARY\n",
            3,
            "no field .api_key.: keys do not go here",
        ),
        (
            "acme:\n  base_url: https://h/v1\n  key_variable: sk-CANARY\n",
            3,
            "acme.key_variable: this is not the name",
        ),
        ("acme:\n  base_url: https://me:CANARY@h/v1\n", 2, "carries a user name or password"),
        ("acme:\n  base_url: https://h/v1?key=CANARY\n", 2, "carries a query"),
        (
            "a: {base_url: https://h/v1}\nb c: {base_url: https://h/v1}\n",
            2,
            "the name 'b c' has other characters",
        ),
        ("a: {base_url: https://h/v1}\na: {base_url: https://i/v1}\n", 2, "'a' stands twice"),
        (
            "a: {base_url: https://h/v1, base_url: https://i/v1}\n",
            1,
            "'base_url' stands twice in a",
        ),
        (
            (
                "a: {base_url: https://h/v1, key_variable: A}\nb: {base_url: https://H:443/v2,"
                " key_variable: B}\n"
            ),
            2,
            "b.key_variable: https://h has another key in",
        ),
        ("a: {base_url: https://h/v1\n", 2, "not YAML"),
        ("[a]: 1\n", 1, "instead of a name"),
    ],
)
def test_an_error_names_file_line_and_field_and_quotes_no_key(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    """And says what to do where that is not plain."""
    with pytest.raises(InputError, match=words) as refused:
        read_user_models(written(tmp_path, text))
    assert f"{tmp_path / 'models.yaml'}, line {line}" in str(refused.value)
    assert "CANARY" not in f"{refused.value} {refused.value.hint}"


def test_a_file_that_every_user_may_write_to_is_refused(tmp_path: Path) -> None:
    """It says where keys go; so is one that cannot be read at all."""
    path = written(tmp_path, f"acme: {{base_url: {ACME}}}")
    path.chmod(0o606)
    with pytest.raises(InputError, match="every user may write") as refused:
        read_user_models(path)
    assert refused.value.hint == f"chmod o-w {path}"
    with pytest.raises(InputError, match="cannot be read"):
        read_user_models(tmp_path)
    path.chmod(0o600)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_user_models(path)


def test_the_file_lies_with_the_user() -> None:
    """In the XDG folder, which counts only if it is absolute, or where a variable says with a whole
    path.
    """
    assert user_models_path({"HOME": "/h"}) == Path("/h/.config/judgewright/models.yaml")
    assert user_models_path({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path(
        "/c/judgewright/models.yaml"
    )
    assert user_models_path({"HOME": "/h", "XDG_CONFIG_HOME": "c"}) == Path(
        "/h/.config/judgewright/models.yaml"
    )
    assert user_models_path({"HOME": "/h", "JUDGEWRIGHT_MODELS": "/m.yaml"}) == Path("/m.yaml")
    assert user_models_path({}) is None
    with pytest.raises(InputError, match="relative"):
        user_models_path({"JUDGEWRIGHT_MODELS": "models.yaml"})


@pytest.mark.parametrize(
    ("url", "name", "variable"),
    [
        (ACME, "api.acme.example", "API_ACME_EXAMPLE_KEY"),
        ("http://127.0.0.1:8000/v1", "127.0.0.1-8000", "HOST_127_0_0_1_8000_KEY"),
        ("http://[::1]:8000/v1", "1-8000", "HOST_1_8000_KEY"),
        ("https://gw.example:8443/a'b,c/v1", "gw.example-8443", "GW_EXAMPLE_8443_KEY"),
    ],
)
def test_the_line_that_is_proposed_can_be_pasted(
    tmp_path: Path, url: str, name: str, variable: str
) -> None:
    """Whatever the address is; with a key or without."""
    (entry,) = read_user_models(written(tmp_path, example_entry(url)))
    assert (entry.name, entry.base_url, entry.key_variable) == (name, url, variable)
    (bare,) = read_user_models(written(tmp_path, example_entry(url, key=False)))
    assert (bare.base_url, bare.key_variable) == (url, None)
