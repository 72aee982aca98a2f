"""Which transport an endpoint gets: the plain one, unless the environment says something that only
the SDK acts on.
"""

import pytest

from judgewright.runs.config import Environment, open_model, read_environment

LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("base_url", "variables", "transport"),
    [
        (LOCAL, {}, "PlainTransport"),
        ("https://models.example.com/v1", {}, "PlainTransport"),
        ("https://api.openai.com/v1", {}, "OpenAITransport"),
        (LOCAL, {"HTTPS_PROXY": "http://proxy:3128"}, "OpenAITransport"),
        (LOCAL, {"all_proxy": "socks5://proxy"}, "OpenAITransport"),
        ("https://models.example.com/v1", {"SSL_CERT_FILE": "/etc/ca.pem"}, "OpenAITransport"),
        (LOCAL, {"SSL_CERT_FILE": "/etc/ca.pem", "SSL_CERT_DIR": "/etc/certs"}, "PlainTransport"),
        (LOCAL, {"HTTP_PROXY": ""}, "PlainTransport"),
        (LOCAL, {"OPENAI_CUSTOM_HEADERS": "X-Gateway: 1"}, "PlainTransport"),
        (
            LOCAL,
            {"OPENAI_CUSTOM_HEADERS": "X-Gateway: 1", "OPENAI_BASE_URL": LOCAL},
            "OpenAITransport",
        ),
    ],
)
def test_the_sdk_is_used_where_it_is_needed(base_url, variables, transport):
    """For OpenAI itself, and for proxies, certificates and headers of the environment."""
    model = open_model(f"m@{base_url}", read_environment(variables))
    assert type(model._transport).__name__ == transport


def test_a_model_of_the_file_may_name_its_transport(tmp_path):
    """The setting wins over what the environment suggests."""
    path = tmp_path / "models.yaml"
    path.write_text(f"mine:\n  model: m\n  base_url: {LOCAL}\n  transport: openai\n")
    model = open_model("mine", Environment(models=path))
    assert type(model._transport).__name__ == "OpenAITransport"
