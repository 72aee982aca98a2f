"""One try over real HTTP."""

import asyncio
import base64
import contextlib
import gzip
import logging
import re
import shutil
import socket
import ssl
import subprocess
import threading
import traceback
import tracemalloc

import orjson
import pytest
from openai import DefaultAioHttpClient

from judgewright.judges import InputError, ModelError, UnreachedError
from judgewright.judges.models import (
    BodyReader,
    Completion,
    Endpoint,
    body_of,
)

KEY = "sk-test-CANARY-5f3a9c1e7b"


@pytest.fixture(params=["openai", "plain"])
def transport(request) -> str:
    """What sends the requests: everything here holds for both."""
    return request.param


@pytest.fixture
def fake(fake, transport):
    """The server, and through what it is asked."""
    fake.transport = transport
    return fake


def try_once(fake, request, *, url=None, unsupported_parameters=frozenset(), **more) -> Completion:
    async def run() -> Completion:
        address = {"api_key": KEY, "timeout": 10.0, "transport": fake.transport, **more}
        model = Endpoint(name="m1", base_url=url or fake.url, **address)
        try:
            return await model.complete(request, unsupported_parameters=unsupported_parameters)
        finally:
            await model.close()

    return asyncio.run(run())


def failure(*args, **kwargs) -> ModelError:
    with pytest.raises(ModelError) as caught:
        try_once(*args, **kwargs)
    return caught.value


def test_a_request_goes_out_as_written_and_comes_back_read(fake, ask_for):
    """Every parameter under its name, the key in the header, the answer as a completion."""
    asked = ask_for(
        "the row", max_tokens=9, top_logprobs=3, response_format={"type": "json_object"}, repeat=4
    )
    got = try_once(fake, asked)
    assert fake.seen[0].body == {"model": "m1", **asked.body()}
    assert fake.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert (got.text, got.tokens_in, got.tokens_out, got.model_returned) == (
        "echo the row",
        20,
        5,
        "fake-1",
    )


@pytest.mark.parametrize(
    ("unsupported_parameters", "absent", "present"),
    [
        ({"temperature", "seed"}, {"temperature", "seed"}, {"max_tokens", "logprobs"}),
        ({"logprobs"}, {"logprobs", "top_logprobs"}, {"seed"}),
        ({"max_tokens"}, {"max_tokens"}, {"max_completion_tokens"}),
        (
            {"max_tokens", "max_completion_tokens"},
            {"max_tokens", "max_completion_tokens"},
            {"seed"},
        ),
        ({"response_format"}, {"response_format"}, {"temperature"}),
    ],
)
def test_what_is_left_out_is_not_sent(fake, ask_for, unsupported_parameters, absent, present):
    """A limit that may not be called max_tokens is sent as max_completion_tokens."""
    asked = ask_for(max_tokens=9, top_logprobs=3, response_format={"type": "json_object"})
    try_once(fake, asked, unsupported_parameters=frozenset(unsupported_parameters))
    sent = fake.seen[0].body
    assert not absent & sent.keys()
    assert present <= sent.keys()


def test_without_a_key_none_is_taken_from_the_environment(fake, ask_for, monkeypatch):
    """Nor an organisation: a local server is not told who pays whom."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    try_once(fake, ask_for(), api_key=None)
    assert KEY not in str(fake.seen[0].headers)
    assert "org-secret" not in str(fake.seen[0].headers)


FAULTS = {
    # The server's reply; the error's fields; a word of its message; more for the endpoint.
    "dropped": ({"drop": True}, {"retryable": True}, "broke", {}),
    "slow": ({"delay": 60.0}, {"retryable": True}, "within 1.5 s|broke", {"timeout": 1.5}),
    "stuck": (
        *({"body": b'{"choices": [', "stuck": True}, {"retryable": True}),
        *("within 1.5 s|broke", {"timeout": 1.5}),
    ),
    "cut": ({"body": {"text": "x" * 5000}, "cut": True}, {"retryable": True}, "broke", {}),
    "garbage": (
        *({"body": b"<html>hello</html>", "headers": {"content-type": "text/html"}},),
        *({"retryable": True, "status": 200}, "in place of a model", {}),
    ),
    "over the cap": (
        *({"body": {"text": "x" * 5 * 2**20}}, {"retryable": False, "status": 200}),
        *("over 4,194,304 bytes", {}),
    ),
    "another packing": (
        *({"body": b"\x0b", "headers": {"content-encoding": "br"}}, {"retryable": True}),
        *("content-encoding was not asked for", {}),
    ),
    "rate limit": (
        *(
            {
                "status": 429,
                "body": {"error": {"message": "slow"}},
                "headers": {"Retry-After": "7"},
            },
        ),
        *({"retryable": True, "status": 429, "retry_after": 7.0}, "slow", {}),
    ),
    "refused parameter": (
        *({"status": 400, "body": {"error": {"message": "Unsupported param: seed"}}},),
        *({"retryable": False, "refused_parameter": "seed"}, "Unsupported", {}),
    ),
    "a wrong key": (
        *({"status": 401, "body": {"error": {"message": "no"}}},),
        *({"fatal": True, "hint": "set THE_KEY"}, "no", {"key_hint": "set THE_KEY"}),
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_a_server_does_is_told_by_the_error(fake, ask_for, case):
    """It reached the server, which may have charged for it, and nothing below tried it again."""
    reply, fields, message, more = FAULTS[case]
    fake.answer = lambda seen: fake.Reply(**reply)
    error = failure(fake, ask_for(), **more)
    assert {name: getattr(error, name) for name in fields} == fields
    assert re.search(message, str(error))
    assert not isinstance(error, UnreachedError)
    assert len(fake.seen) == 1
    assert fake.seen[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("padding", [[], list(range(400_000))], ids=["small", "three megabytes"])
def test_a_packed_reply_is_read_whole(fake, ask_for, padding):
    """gzip, as most gateways send; a large one unpacks in many pieces."""
    packed = gzip.compress(orjson.dumps({**fake.completion("2"), "padding": padding}))
    fake.answer = lambda seen: fake.Reply(body=packed, headers={"content-encoding": "gzip"})
    assert try_once(fake, ask_for()).text == "2"


def test_an_endpoint_that_is_not_there_was_not_charged(fake, ask_for):
    """Nobody listens on the port: `UnreachedError`, which a retry may mend."""
    error = failure(fake, ask_for(), url="http://127.0.0.1:9/v1")
    assert isinstance(error, UnreachedError)
    assert error.retryable
    assert "127.0.0.1:9" in str(error)


@pytest.mark.slow
def test_calls_that_began_later_have_the_same_time(fake, ask_for):
    """Each try has its own time limit, whatever ends before it; a cancelled one is cancelled and
    not late.
    """
    fake.answer = lambda seen: fake.Reply(
        body=fake.completion(), delay=30.0 if "never" in seen.text else 0.0
    )

    async def run() -> list[object]:
        model = Endpoint(
            name="m", base_url=fake.url, api_key=KEY, transport=fake.transport, timeout=3.0
        )
        never = [asyncio.create_task(model.complete(ask_for(f"never {i}"))) for i in range(4)]
        assert (await model.complete(ask_for("at once"))).text
        later = asyncio.create_task(model.complete(ask_for("never, later")))
        never[3].cancel()
        outcomes = await asyncio.gather(*never, later, return_exceptions=True)
        await model.close()
        return list(outcomes)

    *late, cancelled, later = asyncio.run(run())
    assert all("no answer from" in str(outcome) for outcome in (*late, later))
    assert isinstance(later, ModelError)
    assert "optimizer_max_tokens there of other replies" in (later.hint or "")
    assert isinstance(cancelled, asyncio.CancelledError)


@pytest.mark.parametrize("status", [200, 302, 401, 429, 500])
def test_an_endless_body_is_not_read_to_its_end(fake, ask_for, status):
    """Whatever the status: a limit ends it, and an error is known by its status."""
    fake.answer = lambda seen: fake.Reply(
        status=status, body=b"what went wrong " * 1000, endless=True
    )
    error = failure(fake, ask_for())
    assert fake.sent < 64 * 2**20
    assert error.status == status
    assert ("over 4,194,304 bytes" if status == 200 else "what went wrong") in str(error)
    assert len(str(error)) < 400


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """200 kB that unpack to 200 MB."""
    return gzip.compress(bytes(200_000_000))


@pytest.mark.parametrize("status", [200, 302, 401, 429, 500])
def test_a_body_that_unpacks_to_a_thousand_times_its_size_is_not_unpacked(
    fake, ask_for, bomb, status
):
    """A fourth of it is held at most."""
    fake.answer = lambda seen: fake.Reply(
        status=status, body=bomb, headers={"content-encoding": "gzip"}
    )
    tracemalloc.start()
    try:
        error = failure(fake, ask_for())
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert error.status == status


def test_an_error_whose_text_never_ends_is_known_by_its_status(fake):
    """The rest of it is waited for a little, and its connection is closed."""
    fake.answer = lambda seen: fake.Reply(status=429, body=b"slow down", stuck=True)

    async def read():
        hooks = {"response": [BodyReader(fake.url, error_seconds=0.05).read]}
        async with DefaultAioHttpClient(event_hooks=hooks) as client:
            message = {"messages": [{"content": "a row"}]}
            request = client.build_request("POST", f"{fake.url}/chat/completions", json=message)
            return await client.send(request, stream=True)

    response = asyncio.run(read())
    assert response.is_closed
    assert body_of(response) == b"slow down"


def forms(key: str) -> set[str]:
    return {
        key,
        key[-8:],
        base64.b64encode(key.encode()).decode(),
        base64.b64encode(key.encode()).decode().rstrip("="),
    }


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_the_key_appears_nowhere_even_if_the_server_says_it(fake, ask_for, status, caplog):
    """Not in the error, its causes, its traceback, the reply, a repr, or a log at DEBUG."""
    echo = f"key {KEY} also {base64.b64encode(KEY.encode()).decode()} ends {KEY[-8:]}"
    fake.answer = lambda seen: fake.Reply(
        status=status, body=fake.completion(echo) if status == 200 else {"error": {"message": echo}}
    )
    with caplog.at_level(logging.DEBUG):
        if status == 200:
            said = repr(try_once(fake, ask_for()))
        else:
            error = failure(fake, ask_for())
            assert error.__cause__ is None
            assert error.__context__ is None
            said = repr(error) + "".join(traceback.format_exception(error))
    assert "[key]" in said
    everything = said + caplog.text + repr(Endpoint(name="m", base_url=fake.url, api_key=KEY))
    assert caplog.text
    assert not [form for form in forms(KEY) if form in everything]


def test_the_key_is_not_in_a_connection_error(fake, ask_for, caplog):
    """Dropped, unreachable, timed out."""
    with caplog.at_level(logging.DEBUG):
        fake.answer = lambda seen: fake.Reply(drop=True)
        errors = [failure(fake, ask_for()), failure(fake, ask_for(), url="http://127.0.0.1:9/v1")]
        fake.answer = lambda seen: fake.Reply(delay=3.0)
        errors.append(failure(fake, ask_for(), timeout=0.1))
    everything = caplog.text + "".join(
        "".join(traceback.format_exception(error)) for error in errors
    )
    assert not [form for form in forms(KEY) if form in everything]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com/v1",
        "ftp://host/v1",
        "http://",
        "http://host:x/v1",
        "http://host:99999/v1",
    ],
)
def test_what_is_no_url_is_refused(url):
    """With the value and an example."""
    with pytest.raises(InputError, match="is not an http"):
        Endpoint(name="m", base_url=url, api_key=None)


@pytest.mark.parametrize(
    "url", ["https://me:hunter2@host/v1", "https://host/v1?key=hunter2", "https://hunter2@host/v1"]
)
def test_a_url_with_a_secret_is_refused_without_quoting_it(url):
    """The URL is part of records and reports."""
    with pytest.raises(InputError) as caught:
        Endpoint(name="m", base_url=url, api_key=None)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a b", "sk-\u00e9t\u00e9-secret", "sk-one\nX-Evil: 1"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_quoting_it(key):
    """Else the HTTP library quotes it in its own error."""
    with pytest.raises(InputError) as caught:
        Endpoint(name="m", base_url="http://h/v1", api_key=key)
    assert key not in str(caught.value)


def test_a_trailing_newline_of_a_key_file_is_forgiven(fake, ask_for):
    """`cat key.txt` ends in one."""
    try_once(fake, ask_for(), api_key=KEY + "\n")
    assert fake.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_endpoint_can_be_used_again_after_close(fake, ask_for):
    """In another event loop too."""
    model = Endpoint(name="m", base_url=fake.url + "/", api_key=KEY, transport=fake.transport)
    assert model.endpoint == fake.url

    async def once() -> str:
        text = (await model.complete(ask_for("twice"))).text
        await model.close()
        return text

    assert [asyncio.run(once()), asyncio.run(once())] == ["echo twice"] * 2


def test_the_served_embedded_model_is_known_by_its_name():
    """What it says is labelled simulated, over HTTP too."""
    assert Endpoint(name="simulated", base_url="http://h/v1", api_key=None).simulated
    assert not Endpoint(name="gpt-4o", base_url="http://h/v1", api_key=None).simulated


def test_headers_for_openai_go_to_no_other_host(fake, ask_for, monkeypatch):
    """The SDK reads OPENAI_CUSTOM_HEADERS for every host, and an Authorization among them beats the
    key.
    """
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: hunter2\nAuthorization: Bearer hunter3"
    )
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "hunter4")
    try_once(fake, ask_for())
    assert fake.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "hunter" not in str(fake.seen[0].headers)


def test_they_go_where_they_are_meant_to(fake, ask_for, monkeypatch):
    """A gateway at OPENAI_BASE_URL may need them."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: hunter2")
    try_once(fake, ask_for(), custom_headers=True, transport="openai")
    assert fake.seen[0].headers["x-gateway-key"] == "hunter2"


def test_an_endpoint_whose_key_is_missing_is_not_asked(fake, ask_for):
    """It is said at once, by a fault that no retry mends and nobody charges."""
    error = failure(fake, ask_for(), api_key=None, needs_key=True, key_hint="set THE_KEY")
    assert isinstance(error, UnreachedError)
    assert "needs a key" in str(error)
    assert (error.fatal, error.retryable, error.hint) == (True, False, "set THE_KEY")
    assert fake.seen == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize(
    ("location", "points_to", "base_url"),
    [
        (
            "https://new.example/v1/chat/completions",
            "https://new.example/v1/chat/completions",
            "https://new.example/v1",
        ),
        ("/v2/chat/completions", "{origin}/v2/chat/completions", "{origin}/v2"),
        ("https://new.example/login?token=hunter2#x", "https://new.example/login", None),
        (f"https://new.example/{KEY}/x", "https://new.example/[key]/x", None),
        ("https://me:hunter2@new.example/v1/chat/completions", "another address", None),
    ],
)
def test_a_redirect_is_told_with_its_target(fake, ask_for, status, location, points_to, base_url):
    """And with the base URL to use, where it is one; a secret in it is not quoted."""
    fake.answer = lambda seen: fake.Reply(status=status, body={}, headers={"location": location})
    error = failure(fake, ask_for())
    origin = fake.url.removesuffix("/v1")
    assert f"answered {status} and points to {points_to.format(origin=origin)}" in str(error)
    assert (error.fatal, error.status, len(fake.seen)) == (True, status, 1)
    assert (
        (f"NAME@{base_url.format(origin=origin)}" in error.hint)
        if base_url
        else ("base URL" in error.hint)
    )
    assert "hunter2" not in f"{error} {error.hint}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that nobody signed but itself, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost", "-days", "1")
    subprocess.run(
        [openssl, "req", "-x509", *curve, *files], cwd=folder, check=True, capture_output=True
    )
    return folder / "cert.pem", folder / "key.pem"


def test_a_certificate_that_is_not_trusted_ends_the_run(fake, ask_for, certificate):
    """No retry mends it, and neither row nor key was sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with (
                contextlib.suppress(ssl.SSLError, OSError),
                context.wrap_socket(connection, server_side=True) as secure,
            ):
                secure.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        error = failure(fake, ask_for(), url=f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
        thread.join()
    assert isinstance(error, UnreachedError)
    assert error.fatal
    assert "is not trusted" in str(error)
    assert KEY not in str(error)


def test_the_plain_transport_reads_nothing_from_the_environment(
    fake, ask_for, monkeypatch, tmp_path
):
    """Neither a proxy nor a `.netrc`: what needs those goes through the SDK."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake.transport = "plain"
    try_once(fake, ask_for(), api_key=None)
    assert "authorization" not in fake.seen[0].headers


def test_no_cookie_is_sent_back(fake, ask_for):
    """Rows of one run have nothing to say about each other."""
    fake.answer = lambda seen: fake.Reply(
        body=fake.completion(), headers={"set-cookie": "session=1; Path=/"}
    )

    async def run() -> None:
        model = Endpoint(name="m", base_url=fake.url, api_key=KEY, transport="plain")
        await model.complete(ask_for("one"))
        await model.complete(ask_for("two"))
        await model.close()

    asyncio.run(run())
    assert "cookie" not in fake.seen[1].headers


def test_interim_answers_are_passed_over_and_connections_end_as_the_server_says(fake, ask_for):
    """A 103 is no answer; after `Connection: close` and after a body that was not read to its end
    comes a new one.
    """
    reply = orjson.dumps(fake.completion("whole"))
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % len(
        reply
    )
    endless = b"HTTP/1.1 500 No\r\ncontent-length: 900000\r\n\r\n" + bytes(400_000)
    answers = [
        interim + head + b"\r\n" + reply,
        head + b"connection: close\r\n\r\n" + reply,
        endless,
    ]
    answers.append(head + b"\r\n" + reply)
    connections: list[int] = []
    ended = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                received = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(
                    int(received.split(b"content-length:")[1].split(b"\r\n")[0])
                )
                connections[-1] += 1
                writer.write(answers[sum(connections) - 1])
                await writer.drain()
        writer.close()
        ended.release()

    async def run() -> list[str]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = Endpoint(
            name="m", base_url=url, api_key=KEY, transport=fake.transport, timeout=10.0
        )
        said = []
        for _ in answers:
            try:
                said.append((await model.complete(ask_for("one"))).text)
            except ModelError as error:
                said.append(str(error.status))
        await model.close()
        for _ in connections:
            await ended.acquire()
        server.close()
        return said

    said = asyncio.run(run())
    assert said == ["whole", "whole", "500", "whole"]
    assert connections == [2, 1, 1]
