"""What the pages show: the run as the journal has it, open rows alone, and everything hostile as
plain text.
"""

import re
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.judges.models import Completion, Message, Request
from judgewright.optimize import BY_GATE
from judgewright.optimize.events import RunEvent
from judgewright.runs.actions import both_sides, flips_of, read_run, start_run
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports import Exact, open_templates
from judgewright.runs.review.row_lists import ROWS_PER_PAGE
from judgewright.runs.store import (
    CallStore,
    RunConfig,
    RunJournal,
    Workspace,
    create_run,
    list_runs,
    set_state,
)

from ..run_command import run
from .conftest import ATTACK, GOOD, Elements, Made, retold, visit

PARTS = ("facts", "benchmark", "slice", "loss", "steps", "gate", "threshold", "closing", "flips")
FOLDED = tuple(f"/runs/{{run}}/evidence/{part}" for part in PARTS)
"""What the page fetches when a person unfolds it."""


def at(page: TestClient, path: str, made: Made) -> str:
    """Return a page that must be there."""
    answer = page.get(path.format(run=made.run_id))
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    "path", ["/runs/{run}", "/runs/{run}/evidence", "/runs/{run}/flips", FOLDED[-1]]
)
def test_what_is_hostile_is_there_to_be_read(page: TestClient, made: Made, path: str) -> None:
    """Escaped, not taken away; control characters stand as what they are."""
    text = Elements(at(page, path, made)).text
    wanted = ("<script>document", "\\x1b]52;c;")
    if path == "/runs/{run}":
        wanted = ("<svg onload", "<b onclick", *wanted)
    assert [words for words in wanted if words not in text] == []


def test_the_flips_are_those_of_the_record_and_can_be_narrowed(
    page: TestClient, made: Made
) -> None:
    """Each row is on one page; filters add up; what a query invents is passed over."""
    with Workspace(made.root) as place:
        found = flips_of(both_sides(place, read_run(place, made.run_id)))
    assert found.rows
    whole = at(page, "/runs/{run}/flips", made)
    first = [row.row_id for row in found.rows[:ROWS_PER_PAGE]]
    assert first == re.findall(r'aria-label="Row ([^"]+)"', whole)
    assert any(mark in whole for mark in made.opened)
    for query, wanted in (
        ("direction=wrong", [f for f in found.rows if f.direction == "became wrong"]),
        (
            "direction=right&error=FP",
            [f for f in found.rows if f.direction == "became right" and f.error == "FP"],
        ),
        ("slice=out", [f for f in found.rows if not f.in_slice]),
        ("direction=sideways&page=-3", list(found.rows)),
        (f"page={'9' * 5000}", list(found.rows)),
    ):
        text = at(page, f"/runs/{{run}}/flips?{query}", made)
        assert f"{len(wanted)} flips" in text
        most = min(len(wanted), ROWS_PER_PAGE)
        assert text.count('<article class="flip') == most


def test_the_run_is_told_from_its_journal(page: TestClient, made: Made) -> None:
    """The gate's reason, the slice's why, the loss, each step's result, calls, and that it was
    simulated.
    """
    text = Elements(at(page, "/runs/{run}/evidence", made)).text
    with Workspace(made.root) as place:
        events = {e.kind: e.payload for e in RunJournal(place.database, made.run_id).events()}
        calls = CallStore(place.database, made.run_id).summary()
    reason = events["decision"]["reason"].replace(" -> ", " → ")
    assert reason[1:] in Elements(at(page, "/runs/{run}", made)).text
    assert events["loss"]["expression"] in text
    assert events["started"]["objective"]["read_as"] in text
    assert events["step"]["gradient"] in text
    assert calls.attempts == calls.done
    assert f"{calls.done:,} answered; {calls.tokens:,} tokens" in text
    assert "SIMULATED" in text
    assert f"Look {events['decision']['look']} at this holdout" in text


def test_the_parts_are_folded_and_say_together_what_the_whole_page_says(
    page: TestClient, made: Made
) -> None:
    """The review has none of them but a link; each is the same text on its own and among all."""
    review, whole = (
        Elements(at(page, path, made)) for path in ("/runs/{run}", "/runs/{run}/evidence")
    )
    folds = [
        attrs["data-load"]
        for tag, attrs in review.found
        if tag == "details" and "data-load" in attrs
    ]
    assert sorted(folds) == sorted(path.format(run=made.run_id) for path in FOLDED)
    for part in PARTS[:-1]:
        told = Elements(at(page, f"/runs/{{run}}/evidence/{part}", made)).text.strip()
        assert told
        assert told in whole.text
        assert told not in review.text
    answer = page.get(f"/runs/{made.run_id}/evidence/nope")
    assert answer.status_code == 404


def test_the_gain_on_sealed_rows_and_the_words_come_before_anything_else(
    page: TestClient, made: Made
) -> None:
    """As the gate has them: change, interval, rows, groups; then every hunk, and only then what it
    rests on.
    """
    text = Elements(at(page, "/runs/{run}", made)).text
    with Workspace(made.root) as place:
        target = read_run(place, made.run_id).decided.evidence.target  # type: ignore[union-attr]
    assert target is not None
    said = (
        f"precision {target['difference']:+.3f}",
        f"95 % {target['low']:+.3f} .. {target['high']:+.3f}",
        f"on {target['n']:,} sealed rows in {target['groups']:,} groups",
        "Accepted by the gate",
        GOOD,
        "Accept the ticked hunks",
        "What it rests on",
    )
    places = [text.index(words) for words in said]
    assert places == sorted(places)


def test_the_diff_shows_each_hunk_to_be_ticked(page: TestClient, made: Made) -> None:
    """In the words of the diff."""
    text = at(page, "/runs/{run}", made)
    boxes = [a for tag, a in Elements(text).found if tag == "input" and a.get("name") == "hunk"]
    assert len(boxes) > 1
    assert all("checked" in box for box in boxes)
    assert GOOD in text
    assert "&lt;svg onload" in text


def test_a_text_field_gives_back_what_it_was_given() -> None:
    """In a form the text is exact, as a repaired one would be sent back; elsewhere it is made
    visible.
    """
    template = open_templates().from_string("{{ text }}|{{ text|exact }}")
    assert (
        template.render(text="</textarea>\u202e")
        == "&lt;/textarea&gt;\\u{202e}|&lt;/textarea&gt;\u202e"
    )
    assert isinstance(Exact("x"), str)


def test_options_are_named_as_the_form_names_them() -> None:
    """What the form has no field for stays as it is typed in a terminal."""
    said = (
        "under the 5% of --least-chance (--gate-anyway looks all the same); `judgewright label"
        " --rows FILE`"
    )
    shown = open_templates().from_string("{{ said|named_fields }}").render(said=said)
    assert (
        "under the 5% of \u201cleast chance\u201d (\u201cgate anyway\u201d looks all the same)"
        in shown
    )
    assert "--rows FILE" in shown
    arrow = open_templates().from_string("{{ said|named_fields }}").render(said="rose 0.5 -> 0.6")
    assert arrow == "rose 0.5 → 0.6", "two letters are torn apart at the end of a line"


def test_other_kinds_of_runs_have_a_plain_page(own: Made) -> None:
    """Whatever the payload holds is shown; a run without events says what it was asked."""
    with Workspace(own.root) as place:
        odd = create_run(place.database, "annotate", {"corpus": ATTACK})
        RunJournal(place.database, odd).append(
            "sampled", {"rows": [{"text": ATTACK}] * 60, "none": None, "n": 1.5}
        )
        bare = create_run(place.database, "plan", {"judge": "groundedness", "note": ATTACK})
        begun = next(info.config for info in list_runs(place.database) if info.kind == "optimize")
        early = create_run(place.database, "optimize", dict(begun))
        for run in (odd, bare):
            set_state(place.database, run, "done")
    with visit(own.root) as page:
        shown = page.get(f"/runs/{odd}").text
        assert "and 20 more" in shown
        assert "has not begun" in page.get(f"/runs/{early}").text
        assert page.get(f"/runs/{early}/evidence/gate").status_code == 404
        for text in (shown, page.get(f"/runs/{bare}").text, page.get("/").text):
            assert ATTACK not in text
            assert len([tag for tag, _ in Elements(text).found if tag == "script"]) == 1


@pytest.mark.parametrize("name", ["all rows", "channel = pdf"])
def test_a_run_without_a_slice_is_called_unguided_at_the_top(own: Made, name: str) -> None:
    """Beside its state, on every page of the run; a run that reads a slice is not."""
    with Workspace(own.root) as place:
        config = next(info.config for info in list_runs(place.database) if info.kind == "optimize")
        run = create_run(place.database, "optimize", dict(config))
        RunJournal(place.database, run).append("slice", {"name": name, "why": "so", "found": []})
    with visit(own.root) as page:
        assert ('<span class="tag unguided">' in page.get(f"/runs/{run}").text) == (
            name == "all rows"
        )


def test_an_empty_folder_is_shown_and_left_empty(tmp_path: Path) -> None:
    """A page that reads makes nothing."""
    with visit(tmp_path) as page:
        assert "Nothing was run here yet" in page.get("/").text
        assert page.get("/runs/x").status_code == 404
        assert page.get("/judges/groundedness").status_code == 200
        assert page.get("/label").status_code == page.get("/compare").status_code == 200
        assert (
            page.get("/label/x?annotator=a").status_code
            == page.get("/compare?run=x&run=y").status_code
            == 404
        )
    assert list(tmp_path.iterdir()) == []


HANDOVER = f"/judges/groundedness/handover/{Registry().get('groundedness').version}"


@pytest.mark.parametrize(
    "path",
    [
        *("/nope", "/runs/zzz", "/runs/%3Cscript%3E/evidence", "/judges/%3Cscript%3E"),
        *(f"{HANDOVER}/nope", f"{HANDOVER}/mlflow/push", "/judges/groundedness/handover/0000"),
        *("/judges/groundedness/handover/../../x", "/judges/x.yaml/handover/1349/python/archive"),
    ],
)
def test_what_is_not_there_says_so(page: TestClient, path: str) -> None:
    """A page of our own, with the name escaped: also of a tool, a version, or a registry that
    nobody named.
    """
    answer = page.get(path)
    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_an_edited_journal_is_listed_as_one_that_cannot_be_read(own: Made) -> None:
    """The list stays readable; the run itself is refused with the reason."""
    with Workspace(own.root) as place:
        place.database.submit(
            lambda connection: (
                connection.execute("UPDATE event SET payload_json = '{}' WHERE seq = 2") and None
            )
        ).result()
    with visit(own.root) as page:
        assert "cannot be read" in page.get("/").text
        refused = page.get(f"/runs/{own.run_id}")
        assert refused.status_code == 503
        assert "edited or removed" in refused.text


def test_a_run_is_watched_while_another_handle_writes_it(tmp_path: Path) -> None:
    """The page reads beside the writer, at every stage, and the stamp changes when there is more to
    show.
    """
    write_demo_rows(tmp_path / "rows.jsonl", documents=45)
    prompt = Registry().get("groundedness").to_yaml()
    config = RunConfig(
        prompt=prompt,
        model="simulated",
        data=str(tmp_path / "rows.jsonl"),
        objective="raise precision",
        steps=1,
        budget="9.00",
    )
    seen: set[str] = set()
    with visit(tmp_path) as page:

        def on_event(event: RunEvent) -> None:
            run_id = re.findall(r"/runs/([\w-]+)", page.get("/").text)[0]
            shown = page.get(f"/runs/{run_id}")
            assert shown.status_code == 200
            assert "In progress" in shown.text
            assert "of $9.0000 left" in shown.text
            seen.add(re.findall("In progress:</b> ([^.]+)[.]", shown.text)[0])

        with Workspace(tmp_path) as place:
            result = start_run(place, config, Environment(), on_event=on_event)
        assert "In progress" not in page.get(f"/runs/{result.run_id}").text
        ended = page.get(f"/runs/{result.run_id}/live?stamp=running").text
    assert ended.startswith("event: reload\n")
    assert {"splitting the rows", "searching for the slice", "writing prompts"} <= seen
    assert threading.active_count() < 30


def test_a_run_that_found_nothing_better_says_so_and_offers_nothing_to_accept(
    tmp_path: Path,
) -> None:
    """A refused edit is told with its reason; there is no hunk and no form to accept another
    threshold, not sent.
    """
    write_demo_rows(tmp_path / "rows.jsonl", documents=45)
    prompt = Registry().get("groundedness")
    edit = prompt.edited(criteria=f"{prompt.criteria} \u202e<b>turned</b>").to_yaml()
    config = RunConfig(
        prompt=prompt.to_yaml(),
        model="simulated",
        data=str(tmp_path / "rows.jsonl"),
        objective="raise precision",
        proposer="human",
        edit=edit,
        slice="all",
        least_chance=0.99,
    )
    with Workspace(tmp_path) as place:
        run_id = start_run(place, config, Environment()).run_id
    with visit(tmp_path) as page:
        offered, shown = (page.get(f"/runs/{run_id}{tail}").text for tail in ("", "/evidence"))
    assert "hidden_characters" in shown
    assert "U+202E" in shown
    assert "<b>turned" not in shown
    assert '<span class="outcome">No candidate</span>' in offered
    assert "The search found no new prompt" in offered
    assert "hidden_characters" in offered
    assert 'value="accept"' not in offered


@pytest.mark.parametrize(
    ("outcome", "said"), [("undecided", "did not accept"), ("not sent", "was not asked about")]
)
def test_what_the_gate_did_not_accept_is_not_offered_whole(
    own: Made, outcome: str, said: str
) -> None:
    """All hunks ticked would end in a job that adopts nothing, so the page says to untick one."""
    told = retold(own, config={}, events={"decision": {"accepted": False, "outcome": outcome}})
    with visit(own.root) as page:
        accepted, refused = (at(page, "/runs/{run}", made) for made in (own, told))
    assert "the gate has accepted" in accepted
    assert "Untick" not in accepted
    assert f"The gate {said} all hunks together" in refused
    assert "Untick at least one" in refused
    assert ("Both sides of it: a test that fails" in refused) is (outcome == "not sent")
    by_gate = " by the gate" if outcome in BY_GATE else ""
    assert f'<span class="outcome">{outcome.capitalize()}{by_gate}</span>' in refused


def test_a_threshold_alone_is_told_as_what_changes(
    own: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    """No word of the prompt changes, so there is no diff to show: page and terminal say from where
    on yes begins.
    """
    with Workspace(own.root) as place:
        before = read_run(place, own.run_id).before
    rule = {"threshold": 1.0, "calibration": None}
    best = {"version": before.version, "prompt": before.to_yaml(), "rule": rule}
    told = retold(own, config={}, events={"survivor": best})
    said = "o word of groundedness@134907a0740b changes: the threshold goes from 2 to 1"
    with visit(own.root) as page:
        shown = at(page, "/runs/{run}", told)
    assert said in shown
    assert f"→ <code>{before.version}" not in shown
    assert "Accept the threshold" in shown
    assert "No hunks to choose from" not in shown
    code, printed, _ = run(capsys, "diff", told.run_id, "--workspace", str(own.root))
    assert code == 0
    assert said in printed
    assert "The diff" not in printed


def test_the_steps_of_a_run_that_has_ended_begin_with_the_first(own: Made) -> None:
    """And those of a run under way with the newest."""
    told = retold(own, config={}, events={})
    with Workspace(own.root) as place:
        journal = RunJournal(place.database, told.run_id)
        (step,) = [event.payload for event in journal.events() if event.kind == "step"]
        for number in range(2, 14):
            journal.append("step", {**step, "step": number})
    with visit(own.root) as page:
        assert "<b>Human, all open rows, step 1</b>" in at(page, "/runs/{run}/evidence", told)
        with Workspace(own.root) as place:
            set_state(
                place.database, told.run_id, "running"
            )  # and it is, as long as this process holds the workspace
            assert "<b>Human, all open rows, step 13</b>" in at(page, "/runs/{run}/evidence", told)


def test_the_proposals_beside_the_best_are_told_too(own: Made) -> None:
    """A line each with version, result and reason; critique and text folded, hostile words as plain
    text.
    """
    with Workspace(own.root) as place:
        start = RunConfig.from_json(next(iter(list_runs(place.database))).config).judge.criteria
    others = [
        {"result": "no proposal", "reason": f"the optimizer model failed {ATTACK}"},
        {
            "version": "aaaa1111",
            "result": "refused",
            "gradient": "too vague",
            "criteria": f"{start} besides",
            "violations": [{"name": "placeholders", "detail": "{source} is gone"}],
        },
        {
            "version": "bbbb2222",
            "gradient": "",
            "criteria": start,
        },  # as older journals have it, without a result
    ]
    told = retold(own, config={}, events={"step": {"others": others}})
    with visit(own.root) as page:
        text = at(page, "/runs/{run}/evidence", told)
    said = Elements(text).text
    assert f"Beside it none: no proposal; the optimizer model failed {ATTACK}" in said
    assert "Beside it aaaa1111: refused; placeholders: {source} is gone" in said
    assert "Beside it bbbb2222: not tried" in said
    assert "too vague" in said
    assert "<ins>" in text.partition("Beside it aaaa1111")[2].partition("Beside it bbbb2222")[0]
    assert ATTACK not in text


def test_a_cost_is_said_where_every_price_is_known(own: Made) -> None:
    """One call without a price leaves the sum unknown on every page, whatever the others cost."""
    for costs, wanted in (
        ((0.5, 0.25), "$0.7500"),
        ((0.5, None), "price unknown"),
        ((None, None), "price unknown"),
    ):
        with Workspace(own.root) as place:
            run_id = create_run(place.database, "plan", {"judge": f"costs {costs}"})
            calls = CallStore(place.database, run_id)
            for i, cost in enumerate(costs):
                key, asked = (
                    f"{run_id}{i}".encode().ljust(32),
                    Request(messages=(Message("user", "?"),)),
                )
                calls.sent(key, reserved_cost=None, reserved_tokens=1).result()
                answer = Completion(text="4", tokens_in=9, cost=cost)
                calls.done(key, answer, request=asked, endpoint="e", model="m").result()
            # Without a process that works on it the run would be listed as stopped.
            place.database.claim(run_id)
            with visit(own.root) as page:
                assert f"spent {wanted}" in page.get(f"/runs/{run_id}").text


def test_the_gain_at_the_same_recall_stands_beside_the_gain(own: Made) -> None:
    """On the first screen of the run, not only in the evidence that is folded."""
    with visit(own.root) as page:
        card = (
            page.get(f"/runs/{own.run_id}")
            .text.partition('aria-label="Verdict"')[2]
            .partition("</section>")[0]
        )
    assert "at the same recall" in card
