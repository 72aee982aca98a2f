"""The first screen of a run: figures whatever the outcome, what was spent, and what is next."""

import re

import pytest
from starlette.testclient import TestClient

from judgewright.optimize import BY_GATE, RUN_OUTCOMES
from judgewright.optimize.events import JudgeMeasured
from judgewright.runs.actions import read_run
from judgewright.runs.actions.first_figure import first_figure
from judgewright.runs.reports.first_sentence import first_sentences
from judgewright.runs.reports.run_figures import figures_of
from judgewright.runs.store import RunJournal, Workspace, create_run, get_run

from .conftest import Elements, Made, Workbench, post, retold, serving, settled, visit
from .test_walk import browser, open_page, sync_api
from .test_walk import pytestmark as with_browser

__all__ = ["browser"]

NEXT = {
    "accepted": "Decide",
    "refused": "Rows that became wrong",
    "undecided": "Label more rows",
    "not sent": "Label more rows",
    "no candidate": "Plan the next run",
    "failed": "Plan the next run",
}


def cells(page: str) -> dict[str, str]:
    """The lines of the table of figures, by metric, as text."""
    table = re.findall(r'<table class="cards figures">(.*?)</table>', page, re.DOTALL)[0]
    lines = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    texts = [" ".join(Elements(line.replace("<", " <")).text.split()) for line in lines]
    return {text.split()[0]: text for text in texts}


@pytest.mark.parametrize("outcome", RUN_OUTCOMES)
def test_every_outcome_has_figures_what_was_spent_and_a_next_step(
    desk: TestClient, own: Made, outcome: str
) -> None:
    """Baseline with interval; what the gate measured, or that it was not asked; and a way on."""
    decided: dict[str, object] = {"outcome": outcome, "accepted": outcome == "accepted"}
    if outcome in BY_GATE:
        told = retold(own, config={}, events={"decision": decided})
    else:
        bare = {"decision": {**decided, "reason": "so it ended"}}
        told = retold(own, config={}, events={}, instead=bare)
    page = desk.get(f"/runs/{told.run_id}").text
    with Workspace(own.root) as place:
        run = read_run(place, told.run_id)
    target, guard, *others = figures_of(run)
    line = cells(page)["precision"]
    assert f"{target.before['value']:.3f} {target.before['low']:.3f} ..".strip() in line
    assert (target.metric, target.role) == ("precision", "to improve")
    assert (guard.metric, guard.role) == ("recall", "may fall by 0.15")
    assert {one.metric for one in others} >= {"accuracy", "kappa"}
    if run.decided.evidence is None:
        assert "not looked at" in line
        assert target.measured is None
    else:
        assert target.measured == run.decided.evidence.target
        assert f"{run.decided.evidence.target['difference']:+.3f}" in line
    assert "Spent:" in page
    assert (
        NEXT[outcome] in page.partition('aria-label="What to do next"')[2].partition("</form>")[0]
    )


def test_what_the_open_rows_promise_stands_beside_what_the_holdout_measured(
    desk: TestClient, own: Made
) -> None:
    """The difference is the one estimated before the look, its interval 1.96 errors wide."""
    with Workspace(own.root) as place:
        run = read_run(place, own.run_id)
    assert run.chances is not None
    estimate = run.chances.estimate
    promised = figures_of(run)[0].promised
    assert promised is not None
    assert promised["difference"] == estimate["expected"]["precision"]
    width = (promised["high"] - promised["low"]) / 2
    assert width == pytest.approx(1.96 * estimate["error"]["precision"], rel=1e-3)
    line = cells(desk.get(f"/runs/{own.run_id}").text)["precision"]
    assert (
        f"{promised['difference']:+.3f} {promised['low']:+.3f} .. {promised['high']:+.3f}" in line
    )


def test_a_run_that_stopped_shows_what_it_had_and_takes_another_budget(
    desk: TestClient, own: Made
) -> None:
    """Its baseline, what is left of its budget, and a field for more of it."""
    told = retold(
        own, config={"budget": "900tokens"}, events={}, until="benchmark", state="stopped"
    )
    page = desk.get(f"/runs/{told.run_id}").text
    assert list(cells(page))[:2] == ["precision", "recall"]
    assert "900 of 900 tokens left of the budget" in page
    assert "measured change" not in page
    status, _ = post(desk, f"/runs/{told.run_id}/resume", budget="2000tokens")
    assert status == 303
    words = settled(own.root).arguments
    assert tuple(words[:4]) == ("runs", "resume", told.run_id, "--budget=2000tokens")


def test_a_run_whose_model_never_answered_says_so(desk: TestClient, own: Made) -> None:
    """And that there is no figure yet, rather than nothing."""
    told = retold(own, config={}, events={}, until="split", state="stopped")
    with Workspace(own.root) as place:
        place.database.submit(
            lambda c: (
                c.execute(
                    "INSERT INTO failure (run_id, key, message, created) VALUES (?, ?, ?, '')",
                    (told.run_id, b"k" * 32, "no route to host"),
                )
                and None
            )
        ).result()
    page = desk.get(f"/runs/{told.run_id}").text
    assert "No figure yet" in page
    assert "No route to host." in page


def test_a_run_at_work_shows_its_figures_so_far(desk: TestClient, own: Made) -> None:
    """Once it has measured the judge as it is."""
    with Workspace(own.root) as place:
        run_id = create_run(place.database, "optimize", get_run(place.database, own.run_id).config)
        journal = RunJournal(place.database, run_id)
        for event in RunJournal(place.database, own.run_id).events()[:3]:
            journal.append(event.kind, event.payload)
        page = desk.get(f"/runs/{run_id}").text
    assert "In progress" in page
    assert "0." in cells(page)["precision"]


def test_a_look_in_any_case_is_planned_from_the_run_itself(desk: TestClient, own: Made) -> None:
    """The form that starts a run has the option set, and nothing else changed."""
    status, to = post(desk, f"/runs/{own.run_id}/next", gate_anyway="yes")
    assert status == 303
    assert "gate_anyway=yes" in to


def test_a_run_is_named_and_tagged_in_place_and_found_by_it(desk: TestClient, own: Made) -> None:
    """On its own page; the table shows both and is narrowed by a tag; words find them too."""
    status, to = post(desk, f"/runs/{own.run_id}/name", name="stricter", tags=" faq  october ")
    assert (status, to) == (303, f"/runs/{own.run_id}")
    page = desk.get(to).text
    assert 'value="stricter"' in page
    assert 'value="faq october"' in page
    other = retold(own, config={}, events={})
    for query in ("tag=faq", "words=stricter", "words=october"):
        listed = desk.get(f"/?{query}").text
        assert f'href="/runs/{own.run_id}">stricter</a>' in listed
        assert other.run_id not in listed
    assert other.run_id in desk.get("/").text
    assert "<option selected>faq</option>" in desk.get("/?tag=faq").text


def test_a_name_that_is_none_is_refused_and_says_why(desk: TestClient, own: Made) -> None:
    """And nothing is changed."""
    for name in ("two words", "<b>x</b>", "latest"):
        status, text = post(desk, f"/runs/{own.run_id}/name", name=name, tags="")
        assert status == 404
        assert "is no name of a run" in text or "could be taken for" in text
    with Workspace(own.root) as place:
        assert get_run(place.database, own.run_id).name == ""


def test_a_decision_leads_back_to_the_run_which_says_what_became_of_it(
    desk: TestClient, own: Made
) -> None:
    """While it is carried out nothing can be decided twice; a stream tells when it has ended."""
    status, to = post(desk, f"/runs/{own.run_id}/decide", verb="reject", comment="not now")
    assert status == 303
    job_id = to.removeprefix(f"/runs/{own.run_id}?job=")
    during = desk.get(to).text
    assert 'aria-label="State of the job"' in during
    settled(own.root)
    assert "event: reload" in desk.get(f"/jobs/{job_id}/live?stamp=open").text
    after = Elements(desk.get(to).text).text
    assert f"Run {own.run_id} is rejected" in after
    assert "not now" in after
    other = retold(own, config={}, events={})
    assert "State of the job" not in desk.get(f"/runs/{other.run_id}?job={job_id}").text


def test_a_judge_s_page_and_the_runs_show_a_metric_over_versions(
    bench_made: Workbench,
) -> None:
    """Picture and table have the same runs; the table of runs fetches the picture."""
    with visit(bench_made.root) as page:
        shown = page.get("/judges/groundedness?metric=recall").text
        part = page.get("/judges/groundedness/chart").text
        runs = page.get("/").text
    with Workspace(bench_made.root) as place:
        measured = read_run(place, bench_made.before).last(JudgeMeasured)
    assert measured is not None
    recall = measured.benchmark["metrics"]["recall"]
    assert '<option value="recall" selected>' in shown
    for run_id in (bench_made.before, bench_made.after):
        assert f'href="/runs/{run_id}" aria-label=' in shown
        assert f'<a href="/runs/{run_id}">rows.jsonl' in part
    assert f">{recall['value']:.3f}<span" in shown
    assert "precision of groundedness by version" in part
    assert 'open data-load="/judges/groundedness/chart"' in runs
    assert "has not been measured twice yet" in visit_other(bench_made)


def visit_other(made: Workbench) -> str:
    """The chart of a judge that nobody has measured."""
    with Workspace(made.root) as place:
        other = next(name for name in place.registry.names() if name != "groundedness")
    with visit(made.root) as page:
        return page.get(f"/judges/{other}/chart").text


def test_the_first_figure_stands_as_a_sentence_above_the_figures(
    page: TestClient, made: Made
) -> None:
    """The sentences of the benchmark's own page, of this run's open rows."""
    with Workspace(made.root) as place:
        run = read_run(place, made.run_id)
    assert run.benchmark is not None
    first, *_ = first_sentences(first_figure(run.benchmark).to_json())
    assert first in Elements(page.get(f"/runs/{made.run_id}").text).text


def test_each_word_of_the_tour_leads_to_the_newest_example(page: TestClient, made: Made) -> None:
    """To the part of a run that has one; to the form that starts one where none has."""
    for part in ("slice", "loss", "gate"):
        answer = page.get(f"/example/{part}")
        assert answer.headers["location"] == f"/runs/{made.run_id}/evidence#part-{part}"
    assert page.get("/example/nothing").headers["location"] == "/start"


@with_browser
def test_the_tour_stands_on_the_first_visit_until_it_is_dismissed(
    made: Made, browser: "sync_api.Browser"
) -> None:
    """Five sentences with a link each, by keys alone; dismissed it stays away, on every page."""
    complaints: list[str] = []
    with serving(made.root) as link:
        page = open_page(browser, complaints, viewport={"width": 400, "height": 800})
        page.goto(link)
        strip = page.locator("[data-tour]")
        assert strip.is_visible()
        assert strip.locator("li").count() == strip.locator("li a").count() == 5
        assert all(text.count(".") == 1 for text in strip.locator("li").all_inner_texts())
        strip.locator("button").focus()
        page.keyboard.press("Enter")
        assert strip.is_hidden()
        assert page.evaluate("document.activeElement.id") == "main"
        page.click("nav >> text=Judges")
        page.wait_for_selector("h1:has-text('Judges')")
        assert page.locator("[data-tour]").is_hidden()
        plain = open_page(browser, complaints, java_script_enabled=False)
        plain.goto(link)
        assert plain.locator("[data-tour]").is_hidden()
    assert complaints == []


@with_browser
def test_figures_and_picture_stand_beside_the_text_where_there_is_room(
    made: Made, browser: "sync_api.Browser"
) -> None:
    """Side by side on a wide screen, one below the other on a narrow one; nothing overflows."""
    with serving(made.root) as link:
        for width, beside in ((1900, True), (400, False)):
            page = open_page(browser, [], viewport={"width": width, "height": 900})
            page.goto(link)
            page.goto(re.sub(r"[?]token=.*", f"runs/{made.run_id}", link))
            left, right = (
                page.locator(".first > *").nth(number).bounding_box() for number in (0, 1)
            )
            assert left is not None
            assert right is not None
            assert (right["x"] > left["x"] + left["width"] / 2) is beside
            scrolled = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(scrolled) == 0
            if beside:
                assert right["x"] + right["width"] > 0.95 * width - 60
