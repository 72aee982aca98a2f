"""Who may talk to the review page, and what every answer says to the browser."""

import pytest
from starlette.testclient import TestClient

from judgewright.runs.config import Environment
from judgewright.runs.review import HEADERS, review_app

from .conftest import OURS, PORT, TOKEN, Made

FOREIGN = (
    "evil.example",
    "127.0.0.1",
    f"evil.example:{PORT}",
    "127.0.0.1:8400",
    f"127.0.0.1.evil.example:{PORT}",
    "",
)


@pytest.fixture
def stranger(made: Made) -> TestClient:
    """A browser without the cookie."""
    app = review_app(made.root, token=TOKEN, port=PORT, environment=Environment())
    return TestClient(app, base_url=OURS, follow_redirects=False)


def test_the_link_is_traded_for_a_cookie_that_scripts_cannot_read(stranger: TestClient) -> None:
    """The token leaves the address at once; the cookie is of this port, strict and for requests
    alone.
    """
    answer = stranger.get("/", params={"token": TOKEN, "page": "2"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?page=2")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"judgewright-{PORT}={TOKEN}")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    with stranger:
        assert stranger.get("/").status_code == 200


def test_the_link_never_leads_to_another_host(stranger: TestClient) -> None:
    """A path of two slashes would be another host's address to the browser."""
    for path in ("//evil.example/", "/\\evil.example/"):
        answer = stranger.get(f"{OURS}{path}?token={TOKEN}")
        location = answer.headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))


@pytest.mark.parametrize(
    "path", ["/", "/runs/x", "/static/review.css", "/jobs/live", "/favicon.ico"]
)
def test_nothing_is_told_to_a_visitor_without_the_token(stranger: TestClient, path: str) -> None:
    """No token, a wrong one in the link, a wrong one in the cookie, and a right one of another
    port.
    """
    assert stranger.get(path).status_code == 403
    assert stranger.get(path, params={"token": "wrong"}).status_code == 403
    assert stranger.get(path, headers={"cookie": f"judgewright-{PORT}=wrong"}).status_code == 403
    assert (
        stranger.get(path, headers={"cookie": f"judgewright-{PORT + 1}={TOKEN}"}).status_code == 403
    )


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused_even_with_the_token(page: TestClient, host: str) -> None:
    """So a name that was rebound to 127.0.0.1 reads nothing."""
    assert page.get("/", headers={"host": host}).status_code == 400
    assert page.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 400


def test_localhost_is_this_machine_too(page: TestClient) -> None:
    """Both names of the loopback are answered."""
    assert page.get("/", headers={"host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:8400"},
        {"origin": f"http://localhost:{PORT}"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": OURS, "sec-fetch-site": "cross-site"},
        {"origin": OURS, "sec-fetch-site": "same-site"},
        {"origin": OURS, "sec-fetch-site": "none"},
    ],
)
def test_a_form_of_another_page_decides_nothing(
    desk: TestClient, own: Made, headers: dict[str, str]
) -> None:
    """A page on another port is the same site to a browser, which sends it the cookie; its origin
    gives it away.
    """
    answer = desk.post(f"/runs/{own.run_id}/decide", data={"verb": "reject"}, headers=headers)
    assert answer.status_code == 403
    assert "nothing was done here yet" in desk.get("/jobs").text
    assert desk.request("DELETE", "/", headers=headers).status_code == 403


def test_every_answer_forbids_code_framing_sniffing_and_keeping(
    page: TestClient, stranger: TestClient
) -> None:
    """Refusals, pages, errors and files alike; nothing but our own files may run or style."""
    answers = [page.get("/"), page.get("/nope"), page.get("/static/review.js"), stranger.get("/")]
    assert [answer.status_code for answer in answers] == [200, 404, 200, 403]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_a_token_in_the_body_of_a_post_or_twice_in_the_link_is_no_entrance(
    stranger: TestClient,
) -> None:
    """Only a GET with one token enters."""
    answer = stranger.post("/", params={"token": TOKEN}, headers={"origin": OURS})
    assert answer.status_code == 403
    assert stranger.get(f"/?token={TOKEN}&token=wrong").status_code == 403


def test_a_ticket_lets_in_the_first_who_has_it(made: Made) -> None:
    """Then it is worth nothing, and the cookie that it was traded for is the token of the link."""
    app = review_app(made.root, token=TOKEN, ticket="once", port=PORT, environment=Environment())
    with TestClient(app, base_url=OURS, follow_redirects=False) as first:
        entered = first.get("/?token=once")
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert first.cookies[f"judgewright-{PORT}"] == TOKEN
        assert first.get("/").status_code == 200
        first.cookies.clear()
        for token in ("once", ""):
            assert first.get(f"/?token={token}").status_code == 403
        assert first.get(f"/?token={TOKEN}").status_code == 303


def test_files_outside_the_static_folder_stay_there(page: TestClient) -> None:
    """No path leads out of it."""
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
    ):
        assert page.get(path).status_code == 404
