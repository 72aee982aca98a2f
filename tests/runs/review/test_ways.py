"""The three ways in: the demo as a button, measuring, improving; and the model that is chosen."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from judgewright.runs.config import Environment
from judgewright.runs.config.environment import read_environment
from judgewright.runs.demo import DEMO_OPTIONS, write_demo_rows
from judgewright.runs.review import review_app
from judgewright.runs.store import Workspace, list_runs

from ..providers import Provider, serving
from .conftest import ATTACK, HEADERS, OURS, PORT, TOKEN, Elements, inert, post, settled, visit

KEY = "sk-a-key-that-nobody-may-see-0123456789"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace folder with a data file, in which nothing was run."""
    folder = tmp_path / "work"
    folder.mkdir()
    write_demo_rows(folder / "rows.jsonl", documents=45)
    return folder


@pytest.fixture
def desk(root: Path) -> Iterator[TestClient]:
    """A visitor of it."""
    with visit(root) as client:
        yield client


def fields(**more: str) -> dict[str, str]:
    """The form of somebody who measures."""
    return {"way": "measure", "data": "rows.jsonl", "judge": "groundedness", **more}


def card(desk: TestClient, **more: str) -> str:
    """Return what the page says of the model that is chosen, as it is fetched while one types."""
    return part(desk.post("/start/reading", data=fields(**more), headers=HEADERS).text)


def part(page: str) -> str:
    """Return the text of the model's card in a page."""
    return Elements(page.partition('id="model-card"')[2].partition("</div>")[0]).text


def try_out(desk: TestClient, **more: str) -> str:
    """Press the button that asks the model once; return what its card says then."""
    answer = desk.post("/start/test", data=fields(**more), headers=HEADERS)
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("#model-card")
    shown = desk.get(answer.headers["location"]).text
    inert(shown)
    return part(shown)


def test_an_empty_workspace_has_three_ways_in(desk: TestClient, root: Path) -> None:
    """On its first page and on Start; a form begins where one is chosen."""
    for address in ("/", "/start"):
        shown = desk.get(address).text
        inert(shown)
        for words in ("Try it on made-up rows", "Measure my judge", "Improve my judge"):
            assert words in shown
        assert 'action="/start/demo"' in shown
        assert "No figure says anything about a real model" in shown
        assert 'type="file"' not in shown
    measure, improve = (desk.get(f"/start?way={way}").text for way in ("measure", "improve"))
    assert "<h1>Measure my judge</h1>" in measure
    assert "<h1>Improve my judge</h1>" in improve
    assert not (root / ".judgewright").exists()


def test_the_way_is_kept_while_the_form_is_filled_in(desk: TestClient) -> None:
    """By an upload, by the list of files and by the columns."""
    shown = desk.get("/start?way=measure").text
    assert 'href="/start?data=rows.jsonl&amp;way=measure"' in shown
    content = b"source,statement,label\na,b,1\n"
    answer = desk.post(
        "/start/upload?way=measure", files={"data": ("x.csv", content)}, headers=HEADERS
    )
    assert answer.headers["location"] == "/start?way=measure&data=data%2Fx.csv"
    assert "way=measure" in post(desk, "/start/check", **fields())[1]


def test_who_measures_is_asked_for_no_objective(desk: TestClient) -> None:
    """Rows, judge, model, a budget and the button; Enter measures."""
    shown = desk.get("/start", params=fields()).text
    assert 'id="objective"' not in shown
    assert 'formaction="/start/bench">Measure</button>' in shown
    assert 'hidden formaction="/start/bench"' in shown
    assert 'name="budget"' in shown
    assert "way=improve" in shown
    assert 'id="objective"' in desk.get("/start", params=fields(way="improve")).text


def test_measuring_is_a_benchmark_whose_job_leads_to_its_figures(
    desk: TestClient, root: Path
) -> None:
    """While it is at work the page says so, and it looks again when it is done."""
    code, address = post(desk, "/start/bench", **fields(model="simulated", limit="60"))
    assert (code, address.endswith("?then=run")) == (303, True)
    job = settled(root)
    assert job.arguments[0] == "bench"
    assert "--limit=60" in job.arguments
    assert desk.get(address).headers["location"] == f"/runs/{job.run_id}"
    live = desk.get(f"/jobs/{job.job_id}/live?stamp=open").text
    assert live.startswith("event: reload")
    with Workspace(root) as workspace:
        (run,) = list_runs(workspace.database)
    assert (run.kind, run.run_id, run.state) == ("bench", job.run_id, "done")
    assert desk.get(f"/jobs/{job.job_id}").status_code == 200, "who comes back reads how it ended"


def test_a_measurement_that_failed_stays_where_it_says_why(desk: TestClient, root: Path) -> None:
    """Its job made no run that could be shown."""
    _, address = post(desk, "/start/bench", **fields(model="other", other="m@http://127.0.0.1:9"))
    settled(root)
    shown = desk.get(address)
    assert shown.status_code == 200
    assert "is the server started, and is the address right?" in shown.text


@pytest.mark.slow
def test_the_demo_is_a_button_that_ends_on_its_run(desk: TestClient, root: Path) -> None:
    """On rows and a judge of its own: what is accepted there changes no judge that is meant.

    Pressed again, it is the same run.
    """
    outside = root.parent / "mine.jsonl"
    outside.write_text("mine\n")
    (root / "data").mkdir()
    os.symlink(outside, root / "data" / "made-up-rows.jsonl")
    addresses = [post(desk, "/start/demo", go="")[1] for _ in range(2)]
    assert addresses[0] == addresses[1]
    job = settled(root)
    assert outside.read_text() == "mine\n"
    assert job.state == "done"
    ran = f"/runs/{job.run_id}"
    assert desk.get(addresses[0]).headers["location"] == ran
    shown = desk.get(ran).text
    assert "ACCEPTED" in shown.upper()
    assert "SIMULATED" in shown
    assert set(DEMO_OPTIONS) <= set(job.arguments)
    with Workspace(root) as workspace:
        before = workspace.registry.get("groundedness").version
        (run,) = list_runs(workspace.database)
        assert workspace.registry.names().index("groundedness") < workspace.registry.names().index(
            "groundedness_demo"
        ), "who measures an own file is offered the judge that is meant first"
    post(desk, f"{ran}/decide", verb="accept-whole", comment="better")
    settled(root)
    with Workspace(root) as workspace:
        assert workspace.registry.get("groundedness").version == before
        accepted = workspace.registry.get("groundedness_demo").version
        assert accepted != before
        post(desk, "/start/demo", go="")
        settled(root)
        assert workspace.registry.get("groundedness_demo").version == accepted
        assert [one.run_id for one in list_runs(workspace.database, "optimize")] == [run.run_id]


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra: there is no such package."""
    monkeypatch.setitem(sys.modules, "textgrad", None)


@pytest.mark.usefixtures("light")
def test_the_light_install_says_the_line_to_type(root: Path) -> None:
    """On the first page instead of the demo's button, and where one would improve; measuring needs
    nothing.
    """
    line = "pip install &#39;judgewright[optimize]&#39;"
    with visit(root) as desk:
        home, improve, measure = (
            desk.get(address).text
            for address in ("/", "/start?way=improve", "/start?way=measure&data=rows.jsonl")
        )
        told = post(desk, "/start/demo", go="")
        assert told[0] == 303
        job = settled(root)
    assert line in home
    assert "Run the demo" not in home
    assert line in improve
    assert line not in measure
    assert job.state in ("done", "failed")


def test_the_simulated_model_is_said_to_be_made_up(desk: TestClient) -> None:
    """Before and after it is tried."""
    assert "Made up." in card(desk, model="simulated")
    told = try_out(desk, model="simulated")
    assert "no figure says anything about a real model" in told
    assert "It answered after" in told
    assert "It cost nothing." in told


def test_a_model_is_shown_with_its_address_price_and_key(root: Path, tmp_path: Path) -> None:
    """As the form is filled in, without asking it; what is missing is said."""
    models = tmp_path / "models.yaml"
    models.write_text(
        'acme: {base_url: "https://api.acme.example/v1", key_variable: ACME_KEY,'
        " price: {input: 0.15, output: 0.6}}\n"
    )
    variables = {"JUDGEWRIGHT_MODELS": str(models)}
    for key, words in (("", "is not set"), (KEY, "is set")):
        environment = read_environment({**variables, **({"ACME_KEY": key} if key else {})})
        app = review_app(root, token=TOKEN, port=PORT, environment=environment)
        with TestClient(app, base_url=OURS, follow_redirects=False) as desk:
            desk.cookies.set(f"judgewright-{PORT}", TOKEN)
            shown = card(desk, model="acme")
            assert (
                f"acme at https://api.acme.example/v1, with the key in ACME_KEY, which {words}"
                in (" ".join(shown.split()))
            )
            assert "A million tokens cost $0.15 read and $0.6 written." in shown
            assert ("It cannot be asked yet" in shown) == (not key)
            assert ("start it again" in shown) == (not key)
            assert ("Test it with one call" in shown) == bool(key)
            unknown = card(desk, model="other", other="m@http://127.0.0.1:9/v1")
            assert "Its price is not known" in unknown
            assert KEY not in desk.get("/start", params=fields(model="acme")).text


def test_one_call_says_what_came_back_and_what_it_cost(root: Path) -> None:
    """A verdict, prose, a refusal, nobody there: each in a sentence; one request each, and no key
    on the page.
    """
    environment = Environment(own_key=KEY)
    app = review_app(root, token=TOKEN, port=PORT, environment=environment)
    with TestClient(app, base_url=OURS, follow_redirects=False) as desk:
        desk.cookies.set(f"judgewright-{PORT}", TOKEN)
        for provider, words in (
            (Provider(), "It answered after"),
            (Provider(garbles=True), "but not with a verdict"),
            (Provider(demands="Bearer other"), "the endpoint answered 401"),
        ):
            with serving(provider):
                told = try_out(desk, model="other", other=f"m@{provider.url}")
            assert words in told
            assert KEY not in told
            assert provider.seen == [f"Bearer {KEY}"]
        told = try_out(desk, model="other", other="m@http://127.0.0.1:9/v1")
        assert "Nothing came back" in told
        assert "is the server started, and is the address right?" in told


def test_what_a_model_answers_stays_text(root: Path) -> None:
    """Its reply, its error and its name may hold anything."""
    with visit(root) as desk:
        told = desk.post("/start/test", data=fields(model="other", other=ATTACK), headers=HEADERS)
        shown = desk.get(told.headers["location"]).text
        inert(shown)
        assert json.dumps(ATTACK)[1:-1] not in shown
