"""Attacks on the review page that once got somewhere, and a key and sealed rows that must be
nowhere.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from judgewright.judges import InputError
from judgewright.runs.config import Environment
from judgewright.runs.reports import FORMATS, export_run
from judgewright.runs.review import review_app
from judgewright.runs.store import Workspace, create_run

from .conftest import HEADERS, OURS, PORT, TOKEN, Made, settled

KEY = "sk-CANARY-7f3a91"


def carrying(root: Path, environment: Environment | None = None) -> TestClient:
    """A browser with the cookie."""
    app = review_app(root, token=TOKEN, port=PORT, environment=environment or Environment())
    return TestClient(
        app, base_url=OURS, follow_redirects=False, cookies={f"judgewright-{PORT}": TOKEN}
    )


@pytest.mark.parametrize(
    "name", ["secret.yaml", "secret.yml", "groundedness@", "%2e%2e", "%00", "%E2%80%AE", "con"]
)
def test_the_page_of_a_judge_reads_no_file(
    name: str, page: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shelf takes `x.yaml` for a path, and its refusal would quote the file."""
    monkeypatch.chdir(tmp_path)
    for file in ("secret.yaml", "secret.yml"):
        Path(file).write_text(f"api_key: {KEY}\n")
    answer = page.get(f"/judges/{name}")
    assert answer.status_code == 404
    assert KEY not in answer.text


@pytest.mark.parametrize(
    "cookies",
    [
        'settings={"a":1}; {ours}',
        "a b; {ours}",
        'open="; {ours}',
        "path=/; {ours}",
        "{ours}; expires",
        "judgewright-8399=planted; {ours}",
        "{ours}; judgewright-8399=planted",
    ],
)
def test_a_cookie_of_another_server_on_this_machine_locks_nobody_out(
    made: Made, cookies: str
) -> None:
    """Ports share cookies: another program's may be written anyhow, or under our own name."""
    app = review_app(made.root, token=TOKEN, port=PORT, environment=Environment())
    ours = f"judgewright-{PORT}={TOKEN}"
    with TestClient(app, base_url=OURS) as visitor:
        assert (
            visitor.get("/", headers={"cookie": cookies.replace("{ours}", ours)}).status_code == 200
        )
        assert (
            visitor.get("/", headers={"cookie": cookies.replace("{ours}", f"x{ours}")}).status_code
            == 403
        )


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_another_page_can_lead_here_and_take_nothing_in(page: TestClient, site: str) -> None:
    """A link is followed; an image or a script of another page would make the server work and tell
    by its time.
    """
    followed = page.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"})
    taken_in = page.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"})
    assert (followed.status_code, taken_in.status_code) == (200, 403)


def test_the_port_that_http_has_anyway_is_served(made: Made) -> None:
    """A browser leaves `:80` out of Host and Origin."""
    app = review_app(made.root, token=TOKEN, port=80, environment=Environment())
    with TestClient(app, base_url="http://127.0.0.1", cookies={"judgewright-80": TOKEN}) as visitor:
        assert visitor.get("/").status_code == 200
        assert visitor.get("/", headers={"host": "evil.example"}).status_code == 400
        refused = visitor.post(
            "/runs/x/decide", data={"verb": "reject"}, headers={"origin": "http://evil.example"}
        )
        assert refused.status_code == 403


@pytest.mark.parametrize(
    "body", ["verb=accept&verb=reject", "verb=reject&who=a&who=b", "verb=reject&comment=&comment="]
)
def test_a_form_that_says_a_thing_twice_decides_nothing(
    desk: TestClient, own: Made, body: str
) -> None:
    """Which of the two was meant is nobody's guess."""
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = desk.post(f"/runs/{own.run_id}/decide", content=body, headers=HEADERS | kind)
    assert answer.status_code == 404
    assert "2 times" in answer.text
    assert "nothing was done here yet" in desk.get("/jobs").text


def test_half_a_form_decides_nothing_and_leaves_no_traceback(own: Made) -> None:
    """A visitor who hangs up in the middle of it is nobody's defect."""
    app = review_app(own.root, token=TOKEN, port=PORT, environment=Environment())
    given: Iterator[Message] = iter(
        [
            {"type": "http.request", "body": b"verb=reject", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    said: list[Message] = []

    async def receive() -> Message:
        return next(given)

    async def send(message: Message) -> None:
        said.append(message)

    head = {
        "host": f"127.0.0.1:{PORT}",
        "cookie": f"judgewright-{PORT}={TOKEN}",
        "content-type": "application/x-www-form-urlencoded",
        **HEADERS,
    }
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": f"/runs/{own.run_id}/decide",
        "query_string": b"",
    }
    scope["headers"] = [(name.encode(), value.encode()) for name, value in head.items()]
    asyncio.run(app(scope, receive, send))
    assert said[0]["status"] == 400
    assert b"did not arrive whole" in said[1]["body"]


def test_a_defect_on_a_page_quotes_nothing_and_goes_through_the_guards(own: Made) -> None:
    """A run of a kind whose settings are not there: no traceback in a log, and the answer has the
    headers of all.
    """
    with Workspace(own.root) as place:
        run_id = create_run(place.database, "optimize", {"what": f"the text of a row, {KEY}"})
    with carrying(own.root) as visitor:  # raises what the application lets through
        answer = visitor.get("/judges/groundedness")
        assert answer.status_code == 500
        assert "please report it: TypeError in " in answer.text
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert KEY not in answer.text
        assert visitor.get(f"/runs/{own.run_id}").status_code == 200
        assert KEY not in visitor.get(f"/runs/{run_id}/evidence").text  # it has no event to show


@pytest.mark.slow
def test_key_and_sealed_rows_stand_on_no_page_in_no_file_and_in_no_message(
    own: Made, tmp_path: Path
) -> None:
    """Walk every page, decide, break things, export the run; then look everywhere."""
    environment = Environment(openai_key=KEY, own_key=f"{KEY}-own")
    run = f"/runs/{own.run_id}"
    paths = [
        "/",
        run,
        f"{run}/evidence",
        f"{run}/live",
        f"{run}/evidence/flips",
        "/judges",
        "/judges/groundedness",
    ]
    paths += [f"{run}/flips?page={number}" for number in range(1, 9)]
    paths += ["/runs/none", "/judges/none", "/nope", "/jobs"]
    told: list[str] = []
    with carrying(own.root, environment) as visitor:
        told += [visitor.get(path).text for path in paths]
        for form in (
            {"verb": "accept", "hunk": "99"},
            {"verb": "?"},
            {"verb": "reject", "comment": "no"},
        ):
            told.append(visitor.post(f"{run}/decide", data=form, headers=HEADERS).text)
            paths = ("/jobs", f"/jobs/{settled(own.root).job_id}", run, f"{run}/evidence")
            told += [visitor.get(path).text for path in paths]
    with Workspace(own.root) as place:
        for file in export_run(place, own.run_id, tmp_path / "told", formats=list(FORMATS)):
            told.append(file.read_text(encoding="utf-8"))
    everything = "".join(told)
    assert any(mark in everything for mark in own.opened)
    assert [mark for mark in own.sealed if mark in everything] == []
    assert KEY not in everything
    kept = [
        file.read_bytes()
        for file in own.root.rglob("*")
        if file.is_file() and file.name != "rows.jsonl"
    ]
    assert not any(KEY.encode() in content for content in kept)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_an_exported_run_replaces_a_link_and_does_not_follow_it(own: Made, tmp_path: Path) -> None:
    """What the link led to is as it was; a folder that is a file is refused by the system."""
    mine, folder = tmp_path / "mine", tmp_path / "out"
    mine.write_text("mine")
    folder.mkdir()
    (folder / "run.html").symlink_to(mine)
    with Workspace(own.root) as place:
        export_run(place, own.run_id, folder, formats=["html"])
        with pytest.raises(OSError, match="exists"):
            export_run(place, own.run_id, mine, formats=["md"])
        with pytest.raises(InputError):
            export_run(place, "../../etc", folder, formats=["md"])
    assert mine.read_text() == "mine"
    assert not (folder / "run.html").is_symlink()
    shutil.rmtree(folder)
