"""Which transport an endpoint gets: the plain one, unless the environment says something that only
the SDK acts on.
"""

import asyncio
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from judgewright.judges.models import Message, Request
from judgewright.runs.config import Environment, open_model, read_environment

LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("base_url", "variables", "transport"),
    [
        (LOCAL, {}, "PlainTransport"),
        ("https://models.example.com/v1", {}, "PlainTransport"),
        ("https://api.openai.com/v1", {}, "PlainTransport"),
        ("https://api.openai.com/v1", {"OPENAI_ORG_ID": "org-1"}, "OpenAITransport"),
        ("https://api.openai.com/v1", {"OPENAI_PROJECT_ID": "proj-1"}, "OpenAITransport"),
        (LOCAL, {"OPENAI_ORG_ID": "org-1"}, "PlainTransport"),
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
    """For an account's organisation and project at OpenAI, and for what the environment says of
    proxies, certificates and headers.
    """
    model = open_model(f"m@{base_url}", read_environment(variables))
    assert type(model._transport).__name__ == transport


def test_a_model_of_the_file_may_name_its_transport(tmp_path):
    """The setting wins over what the environment suggests."""
    path = tmp_path / "models.yaml"
    path.write_text(f"mine:\n  model: m\n  base_url: {LOCAL}\n  transport: openai\n")
    model = open_model("mine", Environment(models=path))
    assert type(model._transport).__name__ == "OpenAITransport"


def test_openai_is_asked_with_the_key_and_the_body_by_either_transport(monkeypatch):
    """A server on loopback stands where the name leads; organisation and project go by the SDK."""
    seen = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(length))
            seen.append((self.path, dict(self.headers.items()), body))
            choice = {"message": {"content": "yes"}, "finish_reason": "stop"}
            answer = json.dumps({"choices": [choice], "usage": {}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **named: real(
            "127.0.0.1" if host in ("api.openai.com", b"api.openai.com") else host, *more, **named
        ),
    )
    url = f"http://api.openai.com:{server.server_port}/v1"
    request = Request(messages=(Message(role="user", content="the row"),))
    account = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}
    for more in ({}, account):
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        keys = {"JUDGEWRIGHT_API_KEY": "sk-mine", "JUDGEWRIGHT_BASE_URL": url, **more}
        model = open_model(f"m1@{url}", read_environment(keys))

        async def ask(model=model):
            answer = await model.complete(request)
            await model.close()
            return answer

        assert asyncio.run(ask()).text == "yes"
    server.shutdown()
    server.server_close()
    (path, plain, body), (other_path, sdk, other_body) = seen
    assert (path, body) == (other_path, other_body) == ("/v1/chat/completions", body)
    lower = [{name.lower(): value for name, value in one.items()} for one in (plain, sdk)]
    assert [one["authorization"] for one in lower] == ["Bearer sk-mine"] * 2
    assert [one.get("openai-organization") for one in lower] == [None, "org-1"]
    assert [one.get("openai-project") for one in lower] == [None, "proj-1"]
