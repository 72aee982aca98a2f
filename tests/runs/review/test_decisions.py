"""What a person decides on the page, and that nothing passes the gate unseen."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import httpx
import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.runs.actions import read_optimization, read_run, record_review
from judgewright.runs.actions.work_jobs import work_jobs
from judgewright.runs.cli import main
from judgewright.runs.config import Environment
from judgewright.runs.reports.numbers import moment
from judgewright.runs.store import (
    HoldoutLedger,
    JobQueue,
    RunConfig,
    Workspace,
    get_run,
    list_runs,
    open_proposers,
)

from .conftest import ATTACK, GOOD, HARMFUL, HEADERS, SECONDS, SERVE, Made, retold, settled


def decide(desk: TestClient, own: Made, form: dict[str, object], *, to: str = "decide") -> str:
    """Send the form of the run's page, wait for the job it starts, and return the page about it."""
    answer = desk.post(f"/runs/{own.run_id}/{to}", data=form, headers=HEADERS)
    assert answer.status_code == 303, answer.text
    job = settled(own.root)
    there = "/jobs/" if to == "edit" else f"/runs/{own.run_id}?job="
    assert answer.headers["location"] == f"{there}{job.job_id}"
    return desk.get(answer.headers["location"]).text


def test_rejecting_writes_who_and_why_and_leaves_the_shelf(desk: TestClient, own: Made) -> None:
    """A hostile comment is kept to the letter and shown as text."""
    page = decide(
        desk, own, {"verb": "reject", "who": "Ada", "comment": ATTACK, "comment-2": "too strict"}
    )
    assert "is rejected" in page
    with Workspace(own.root) as place:
        verdict = read_optimization(place, own.run_id).reviews[-1]
        assert (verdict.verb, verdict.who, verdict.comment) == (
            "rejected",
            "Ada",
            f"{ATTACK}; hunk 2: too strict",
        )
        assert place.registry.get("groundedness").version == Registry().get("groundedness").version
    shown = desk.get(f"/runs/{own.run_id}").text
    assert ATTACK not in shown
    assert "&lt;script&gt;" in shown
    assert 'value="accept"' not in shown
    assert "already rejected by Ada" in decide(desk, own, {"verb": "accept", "hunk": "1"})


def test_some_hunks_go_through_the_gate_as_the_very_text_that_is_kept(
    desk: TestClient, own: Made
) -> None:
    """One more run of its own kind, one more look; the shelf holds the composed text and not the
    harmful words.
    """
    with Workspace(own.root) as place:
        diff = read_optimization(place, own.run_id).diff()
        assert diff is not None
        taken = [h.number for h in diff.hunks if HARMFUL not in h.new]
        assert 0 < len(taken) < len(diff.hunks)
        runs = len(list_runs(place.database))
    page = decide(desk, own, {"verb": "accept", "hunk": [str(n) for n in taken], "who": "Ada"})
    assert "The gate says accepted" in page
    with Workspace(own.root) as place:
        assert len(list_runs(place.database)) == runs + 1
        kept = place.registry.get("groundedness")
        assert GOOD in kept.criteria
        assert HARMFUL not in kept.criteria
        assert read_optimization(place, own.run_id).reviews[-1].version == kept.version
    boxes = re.findall(r'value="(\d+)"( checked)? disabled', desk.get(f"/runs/{own.run_id}").text)
    assert [int(number) for number, checked in boxes if checked] == taken
    shown = desk.get(f"/runs/{own.run_id}").text
    with Workspace(own.root) as place:
        gated = read_run(place, list_runs(place.database)[-1].run_id).answer
    assert gated is not None
    assert "Accepted by the gate, in part" in shown
    assert f"precision {gated.decision.evidence.target['difference']:+.3f}" in shown
    line = re.search(
        rf'<tr data-item[^>]*>(?:(?!</tr>).)*?href="/runs/{own.run_id}".*?</tr>',
        desk.get("/").text,
        re.S,
    )
    assert line
    assert re.findall(r'class="tag (\w+)', line[0])[-1] == "accepted"
    assert f"{gated.decision.evidence.target['difference']:+.3f}" in line[0]
    other = desk.get(f"/runs/{list_runs_of(own)[-1]}").text
    assert "Accepted by the gate" in other
    assert [mark for mark in own.sealed if mark in other + desk.get("/").text] == []


def list_runs_of(own: Made) -> list[str]:
    """Return the ids of the workspace's runs."""
    with Workspace(own.root) as place:
        return [info.run_id for info in list_runs(place.database)]


def test_an_own_text_is_tried_as_a_run_of_its_own(desk: TestClient, own: Made) -> None:
    """With the line ends that were typed, from the same start, whatever the run asked of its
    proposer; an unchanged or empty text is not tried.
    """
    asked = {"proposer": "textgrad", "edit": None, "temperature": 0.3, "candidates": 3}
    asked |= {"parts": ["criteria", "system"], "gradients": 2, "steps": 9}
    other = retold(own, config=asked, events={})
    typed = f"Look for each fact in the source.\r\n{GOOD}"
    page = decide(desk, other, {"criteria": typed, "comment": "shorter"}, to="edit")
    assert "The gate says" in page
    with Workspace(own.root) as place:
        config = RunConfig.from_json(list_runs(place.database)[-1].config)
        start = RunConfig.from_json(get_run(place.database, other.run_id).config)
        after = read_optimization(place, own.run_id).after
    assert (config.proposer, config.steps) == ("human", 1)
    for name in ("data_hash", "objective", "seed"):
        assert getattr(config, name) == getattr(start, name)
    assert f"Look for each fact in the source.\n  {GOOD}" in str(config.edit)
    for proposer in ("cases", "gepa", "mipro"):
        open_proposers(replace(start, proposer=proposer).for_edit(start.prompt))
    assert after is not None
    for text in (after.criteria.replace("\n", "\r\n"), "  "):
        answer = desk.post(f"/runs/{own.run_id}/edit", data={"criteria": text}, headers=HEADERS)
        assert answer.status_code == 404
    assert len(list_runs_of(own)) == 3


def test_a_diff_that_cannot_be_taken_in_parts_is_accepted_whole_or_not_at_all(
    desk: TestClient, own: Made
) -> None:
    """Only the prompt that the gate has judged is on offer."""
    with Workspace(own.root) as place:
        found = read_optimization(place, own.run_id)
    assert found.after is not None
    changed = replace(found.after, template=f"Read this.\n{found.after.template}")
    best = {"version": changed.version, "prompt": changed.to_yaml()}
    events: dict[str, dict[str, object]] = {"survivor": best}
    for accepted in (False, True):
        outcome = "accepted" if accepted else "undecided"
        events["decision"] = {"accepted": accepted, "outcome": outcome, "reason": "as it happens"}
        odd = retold(own, config={}, events=events)
        shown = desk.get(f"/runs/{odd.run_id}").text
        assert "differ in template" in shown
        assert ('value="accept-whole"' in shown) is accepted
        assert 'value="accept"' not in shown
        assert 'value="reject"' in shown
        said = decide(desk, odd, {"verb": "accept-whole", "who": "Ada"})
        assert ("is now what" in said) is accepted
        assert ("did not accept this prompt" in said) is not accepted
        assert "calls answered" not in said, "those were the run's"
        assert ("Nothing was asked." in said) is accepted
        assert 'class="tag simulated"' in said
    with Workspace(own.root) as place:
        assert place.registry.get("groundedness").version == changed.version
        decided = read_optimization(place, odd.run_id)
        assert decided.reviews[-1].who == "Ada"
    version = changed.version
    assert f'href="/judges/groundedness/handover/{version}">Hand it over (export)</a>' in said
    shown = desk.get(f"/runs/{odd.run_id}").text
    assert "What it changed" in shown
    assert "What it wants to change" not in shown
    assert 'name="comment-1"' not in shown
    assert "takes it and" not in shown, "there is nothing left to take"
    history = desk.get("/judges/groundedness").text
    assert "As a question of a decision model" in history
    assert "# not sent: " in history
    assert f"accepted by Ada, {moment(decided.review_times[-1])}" in history, (
        "when it was, and not when it was found"
    )
    first = re.findall(r'handover/(\w+)"', history)[0]
    assert first == version, "the version in use is handed over first"
    assert history.lower().count("shipped with judgewright") == 1
    # Every version on the same rows.
    by_version = re.findall(r'aria-label="Figures of (\w+)"(.*?)</table>', history, re.DOTALL)
    told = {v: re.findall(r"rows\.jsonl, (all|open) rows", table)[0] for v, table in by_version}
    assert told == dict.fromkeys((found.before.version, found.after.version, version), "all")


def test_a_decision_while_another_process_writes_waits_for_it(desk: TestClient, own: Made) -> None:
    """The lock is another's: the job says whom it waits for, the run stays undecided, and then it
    is decided.
    """
    with Workspace(own.root) as place:
        place.database.submit(lambda connection: None).result()
        desk.post(f"/runs/{own.run_id}/decide", data={"verb": "reject"}, headers=HEADERS)
        queue = JobQueue(own.root, Environment().jobs_key)
        job = queue.list()[-1]
        while not (
            queue.complaints(job).is_file() and "waiting" in queue.complaints(job).read_text()
        ):
            time.sleep(0.1)
        assert queue.get(job.job_id).state == "running"
        assert read_optimization(place, own.run_id).reviews == ()
    settled(own.root)
    with Workspace(own.root) as place:
        assert len(read_optimization(place, own.run_id).reviews) == 1


def test_forms_that_are_none_are_refused(desk: TestClient, own: Made) -> None:
    """Another verb, hunks that are no numbers, none at all, a file, and too much."""
    url = f"/runs/{own.run_id}/decide"
    assert desk.post(url, data={"verb": "adopt"}, headers=HEADERS).status_code == 404
    assert (
        desk.post(url, data={"verb": "accept", "hunk": "1;2"}, headers=HEADERS).status_code == 404
    )
    assert desk.post(url, json={"verb": "reject"}, headers=HEADERS).status_code == 415
    assert (
        desk.post(
            url, data={"verb": "reject", "comment": "x" * 1_000_001}, headers=HEADERS
        ).status_code
        == 413
    )
    assert (
        desk.post("/runs/zzz/decide", data={"verb": "reject"}, headers=HEADERS).status_code == 404
    )
    assert "No hunk was chosen" in decide(desk, own, {"verb": "accept"})
    assert "There is no hunk 99" in decide(desk, own, {"verb": "accept", "hunk": "99"})


def test_the_same_decision_twice_is_one_job(desk: TestClient, own: Made) -> None:
    """A button that was pressed twice, or in two tabs, leads to the same job."""
    form = {"verb": "accept", "hunk": "1"}
    queue = JobQueue(own.root, Environment().jobs_key)
    nobody_works = queue.lock()
    nobody_works.acquire()
    answers = [
        desk.post(f"/runs/{own.run_id}/decide", data=form, headers=HEADERS) for _ in range(3)
    ]
    assert len({answer.headers["location"] for answer in answers}) == 1
    (job,) = queue.list()
    queue.wish(job.job_id, "stop")
    nobody_works.release()


@contextmanager
def served(own: Made) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve the workspace in a process that may be killed; yield it with its link."""
    command = [sys.executable, "-c", SERVE, "--port", "0", "--workspace", str(own.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


@contextmanager
def open_tab(link: str) -> Iterator[httpx.Client]:
    """Follow the link as a browser does."""
    origin = link.partition("/?")[0]
    headers = {"origin": origin, "sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=origin, headers=headers, timeout=300) as tab:
        tab.get(link)
        yield tab


@pytest.mark.slow
def test_two_tabs_a_terminal_and_a_killed_server_make_each_thing_once(own: Made) -> None:
    """Two tabs accept and ask, a terminal rejects, server and worker are killed: one decision, one
    question.
    """
    with Workspace(own.root) as place:
        run = read_optimization(place, own.run_id)
        diff, holdout = run.diff(), run.split.seals["holdout"] if run.split else ""
        looks = len(HoldoutLedger(place.database).history().looks(holdout))
        runs = [info.run_id for info in list_runs(place.database)]
    assert diff is not None
    taken = [str(h.number) for h in diff.hunks if HARMFUL not in h.new]
    decision = {"verb": "accept", "hunk": taken, "who": "Ada", "comment": ""}
    start = {
        "data": "rows.jsonl",
        "judge": "groundedness",
        "model": "simulated",
        "objective": "raise precision",
    }
    sent = [(f"/runs/{own.run_id}/decide", decision), ("/start/ask", start)]
    reject = ["reject", own.run_id, "--workspace", str(own.root), "--by", "terminal"]
    queue = JobQueue(own.root, Environment().jobs_key)
    nobody_works = queue.lock()
    nobody_works.acquire()  # until both tabs have asked: what has ended may be asked for again
    with (
        served(own) as (server, link),
        open_tab(link) as a,
        open_tab(link) as b,
        ThreadPoolExecutor(4) as pool,
    ):
        answers = [pool.submit(tab.post, path, data=form) for path, form in sent for tab in (a, b)]
        assert [answer.result().status_code for answer in answers] == [303, 303, 303, 303]
        terminal = subprocess.Popen(
            [sys.executable, "-m", "judgewright", *reject], stderr=subprocess.PIPE
        )
        nobody_works.release()
        until = time.monotonic() + SECONDS
        while not any(job.pid for job in queue.list()) and time.monotonic() < until:
            time.sleep(0.02)
        server.kill()
    with suppress(ProcessLookupError):  # a quick worker has done everything by now
        os.kill(next(job.pid for job in queue.list() if job.pid), signal.SIGKILL)
    with served(own) as (_, link), open_tab(link) as tab:
        settled(own.root)
        assert tab.post(sent[0][0], data=sent[0][1]).status_code == 303
        settled(own.root)
    terminal.communicate()
    # Of two requests at once either may come first.
    accepted, again = (job for job in queue.list() if job.arguments[0] == "accept")
    (read,) = (job for job in queue.list() if job.arguments[0] == "loss")
    assert (read.state, again.state) == ("done", "failed")
    with Workspace(own.root) as place:
        (verdict,) = read_optimization(place, own.run_id).reviews
        new = [info for info in list_runs(place.database) if info.run_id not in runs]
        spent = len(HoldoutLedger(place.database).history().looks(holdout)) - looks
    assert (verdict.verb == "accepted") == accepted.good == (terminal.returncode != 0)
    assert f"already {verdict.verb}" in again.message
    assert spent <= 1
    assert [info.kind for info in new].count("hunks") == spent
    # A reading that was cut off by the kill stays beside the one that took its place.
    assert [info.kind for info in new if info.state == "done"].count("loss") == 1


def test_a_decision_that_was_written_before_its_worker_was_killed_is_told_as_done(
    own: Made,
) -> None:
    """The next worker finds it in the run, and does not make it again to be told that somebody had
    decided.
    """
    queue = JobQueue(own.root, Environment().jobs_key)
    words = ["reject", own.run_id, "--comment=too lenient", "--workspace", str(own.root), "--json"]
    job = queue.add("Reject the run", words, about=own.run_id)
    other = queue.add(
        "Reject the run", [*words[:2], "--comment=another", *words[3:]], about=own.run_id
    )
    assert [queue.take(), queue.take()] == [queue.get(job.job_id), queue.get(other.job_id)]
    with Workspace(own.root) as place:
        record_review(place, own.run_id, accept=False, who="Ada", comment="too lenient")
    assert work_jobs(queue, main, tell=lambda _: None) == 1
    done, late = queue.list()
    assert (done.state, done.exit_code, done.starts) == ("done", 0, 1)
    assert "rejected by Ada" in done.message
    assert (late.state, "already rejected by Ada" in late.message) == ("failed", True)
    with Workspace(own.root) as place:
        assert len(read_optimization(place, own.run_id).reviews) == 1
