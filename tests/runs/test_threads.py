"""Many threads at work on one workspace: calls, journals and looks. docs/reliability.md."""

import json
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges.models import Client, Completion, Endpoint, Message, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.config.place import Place
from judgewright.runs.store import (
    CallStore,
    HoldoutLedger,
    RunJournal,
    Workspace,
    create_run,
    get_run,
    set_state,
)

from ..look_requests import look_at

THREADS, EACH, OF = 16, 20, 80
"""Threads, what each asks, and how many different requests there are: four threads ask each."""


@pytest.mark.parametrize("kind", ["a folder", "a server"])
def test_threads_share_a_workspace_and_pay_for_each_request_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, measured: Callable[[str], None]
) -> None:
    """Each has a journal of its own and enters a look; all ask through one client, four of them
    each request.
    """
    place: Path | Place = tmp_path
    if kind == "a server":
        server = request.getfixturevalue("postgres")
        place = Place(tmp_path, server.address(server.new()))
    looks, wrong = list[int](), list[BaseException]()
    start = threading.Barrier(THREADS)
    with (
        Server(make_app(Simulated(), Faults.parse("latency=0.01"))) as endpoint,
        Workspace(place) as workspace,
    ):
        database = workspace.database
        shared = create_run(database, "bench", {})
        model = Endpoint(name="m", base_url=endpoint.base_url, api_key=None)
        with Client(model, record=CallStore(database, shared), concurrency=16) as client:

            def work(number: int) -> None:
                try:
                    start.wait()
                    run_id = create_run(database, "bench", {"thread": number})
                    journal = RunJournal(database, run_id)
                    asked = [(number * EACH + i) % OF for i in range(EACH)]
                    for i in asked:
                        message = Message("user", f"row {i}")
                        assert isinstance(client.ask_one(Request(messages=(message,))), Completion)
                        journal.append("step", {"row": i})
                    ledger = HoldoutLedger(database, max_looks=THREADS)
                    looks.append(ledger.begin(look_at("h", run_id, "a", f"b{number}")).number)
                    set_state(database, run_id, "done")
                    assert [event.payload["row"] for event in journal.events()] == asked
                    assert get_run(database, run_id).state == "done"
                except BaseException as error:  # noqa: BLE001 - it is shown below
                    wrong.append(error)

            threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        summary = CallStore(database, shared).summary()
        links = HoldoutLedger(database).verify()
        with urllib.request.urlopen(endpoint.base_url.removesuffix("/v1") + "/stats") as answer:
            billed = json.load(answer)["billed"]
    assert wrong == []
    measured(
        f"{THREADS} threads on {kind}, {THREADS * EACH} requests, {OF} of them different: {billed}"
        f" billed, {summary.done} kept; {len(looks)} looks, numbered 1 to {max(looks)}"
    )
    assert (billed, summary.done, summary.repeated, summary.in_doubt) == (OF, OF, 0, 0)
    assert sorted(looks) == list(range(1, THREADS + 1))
    assert links == THREADS
