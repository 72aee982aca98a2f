"""Comments on hunks become the next run's objective, with everything else as the run had it."""

from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.requests import Request
from starlette.testclient import TestClient

from judgewright.optimize import ObjectiveWords
from judgewright.optimize.options import option_fields
from judgewright.runs.actions import read_optimization
from judgewright.runs.commands.decorators import read_options
from judgewright.runs.config.optimize_options import OptimizeOptions
from judgewright.runs.review.start_form import StartForm, form_fields
from judgewright.runs.store import Workspace

from .conftest import ATTACK, HEADERS, HOSTILE, Elements, Made, retold, visit


def asked_for(page: TestClient, made: Made, **form: str) -> dict[str, str]:
    """Send the form of the review; return the fields of the start page that it leads to."""
    answer = page.post(f"/runs/{made.run_id}/next", data={"verb": "", **form}, headers=HEADERS)
    assert answer.status_code == 303, answer.text
    address = urlsplit(answer.headers["location"])
    assert address.path == "/start"
    return {name: value for name, (value,) in parse_qs(address.query, strict_parsing=True).items()}


def test_comments_are_joined_in_the_order_of_the_hunks(page: TestClient, made: Made) -> None:
    """A full stop where there is none; the general comment last; words keep the run's goal."""
    form = {
        "comment-10": "rule 10 is vague",
        "comment-2": " too strict\nwith paraphrase ",
        "comment": "Keep it short!",
    }
    asked = asked_for(page, made, **form, **{"comment-3": "", "comment-x": "no"})
    assert asked["objective"] == "too strict with paraphrase. rule 10 is vague. Keep it short!"
    assert (asked["judge"], asked["data"], asked["model"]) == (
        "groundedness",
        "rows.jsonl",
        "simulated",
    )
    assert (asked["target"], asked["guards"]) == ("precision", "recall=0.15")
    assert (
        "proposer" not in asked
    )  # a person's edit was tried, and the next prompt is written by a model
    shown = Elements(page.get("/start", params=asked).text).text
    assert "too strict with paraphrase. rule 10 is vague. Keep it short!" in shown
    assert (
        "Raise precision by making fewer false positives; recall may fall by at most 15 points"
        in shown
    )


def test_exact_words_in_the_comments_are_the_goal(page: TestClient, made: Made) -> None:
    """Then nothing of the old one is filled in; without comments the run's own words stand
    there.
    """
    asked = asked_for(page, made, **{"comment-1": "raise recall"})
    assert not {"target", "guards", "floors"} & asked.keys()
    assert ObjectiveWords(text=asked["objective"]).read(None).direction == "fn"
    with Workspace(made.root) as place:
        words = read_optimization(place, made.run_id).objective.text
    assert asked_for(page, made)["objective"] == words


def test_the_options_are_those_of_the_run(own: Made) -> None:
    """Whatever the form can say is said as the run had it; its rows, which lie elsewhere now, are
    chosen again.
    """
    changes = {
        "budget": "3.50",
        "shares": [40, 15, 45, 0],
        "columns": {"statement": "claim"},
        "exclude": ["a", "b"],
    }
    told = retold(
        own,
        config={**changes, "by_claim": True, "temperature": 0.3, "model": "m@https://h/v1"},
        events={},
    )
    with visit(own.root) as page:
        asked = asked_for(page, told, **{"comment-1": "raise recall"})
        chosen = page.get("/start", params=asked).text
    assert "data" not in asked
    assert "objective=raise+recall" in chosen
    assert (asked["model"], asked["other"]) == ("other", "m@https://h/v1")
    scope = {"type": "http", "method": "GET", "query_string": urlencode(asked).encode()}
    options = read_options(OptimizeOptions, StartForm.of(Request(scope)).options())
    with Workspace(own.root) as place:
        config = read_optimization(place, told.run_id).config
    offered = {shown.name for group in form_fields().values() for shown in group}
    for field, _ in option_fields(OptimizeOptions):
        if field.name in offered - {"proposer", "target", "guards", "floors"}:
            assert getattr(options, field.name) == getattr(config, field.name), field.name


def test_hostile_comments_stay_text_and_too_many_words_are_refused(
    page: TestClient, made: Made
) -> None:
    """On the page that they lead to, too; nothing is written, and the form of another page is
    refused.
    """
    asked = asked_for(page, made, **{"comment-1": HOSTILE, "comment": ATTACK})
    shown = page.get("/start", params=asked).text
    found = [tag for tag, _ in Elements(shown).found if tag in ("script", "img")]
    assert found == ["script"]
    assert "&lt;script&gt;" in shown
    long = page.post(f"/runs/{made.run_id}/next", data={"comment": "x" * 4001}, headers=HEADERS)
    assert (long.status_code, "has 4,000 at most" in long.text) == (404, True)
    foreign = page.post(
        f"/runs/{made.run_id}/next", data={"comment": "x"}, headers={"origin": "http://elsewhere"}
    )
    assert foreign.status_code == 403
    assert not (made.root / ".judgewright" / "jobs.db").exists()
