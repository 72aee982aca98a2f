"""Starting a run on the page: uploads, the form, the plan, and that everything hostile in them
stays inert.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from httpx import Response
from starlette.testclient import TestClient

from judgewright.judges import InputError
from judgewright.optimize.options import option_fields
from judgewright.runs.config import Environment
from judgewright.runs.config.optimize_options import OptimizeOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review.app_state import BYTES_HERE
from judgewright.runs.review.start_form import NOT_HERE, OWN_PLACE, form_fields
from judgewright.runs.review.stream import event
from judgewright.runs.review.uploads import MAX_UPLOAD, safe_name
from judgewright.runs.store import HoldoutLedger, JobQueue, Workspace, list_runs

from .conftest import ATTACK, HEADERS, settled, visit, when_done

OBJECTIVE = "Precision; recall may fall by 5 points"
SENTENCE = "do not call unsupported statements grounded"
"""One that the simulated model reads."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(root: Path) -> Iterator[TestClient]:
    """A visitor of it."""
    with visit(root) as client:
        yield client


@pytest.fixture
def rows(tmp_path: Path) -> bytes:
    """A data file."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=45)
    return (tmp_path / "rows.jsonl").read_bytes()


def send(desk: TestClient, name: str, content: bytes) -> tuple[int, str]:
    """Upload a file; return the answer's code, and where it leads or what it says."""
    answer = desk.post("/start/upload", files={"data": (name, content)}, headers=HEADERS)
    return answer.status_code, answer.headers.get("location", answer.text)


def plan(desk: TestClient, fields: dict[str, Any], path: str = "/start/plan") -> Response:
    """Send the form as its button does, and return the page that it leads to."""
    answer = desk.post(path, data=fields, headers=HEADERS)
    return desk.get(answer.headers["location"]) if answer.status_code == 303 else answer


def form(**more: str | list[str]) -> dict[str, Any]:
    """A form that is filled in."""
    return {
        "data": "data/rows.jsonl",
        "judge": "groundedness",
        "model": "simulated",
        "objective": OBJECTIVE,
        **more,
    }


def test_an_upload_is_stored_below_the_workspace_and_checked_at_once(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """Byte for byte; the same content again is the same file, another content has a name of its
    own.
    """
    assert send(desk, "rows.jsonl", rows) == (303, "/start?data=data%2Frows.jsonl")
    assert send(desk, "rows.jsonl", rows) == (303, "/start?data=data%2Frows.jsonl")
    assert send(desk, "rows.jsonl", rows + b"\r\n") == (303, "/start?data=data%2Frows-2.jsonl")
    assert (root / "data" / "rows.jsonl").read_bytes() == rows
    assert (root / "data" / "rows-2.jsonl").read_bytes() == rows + b"\r\n"
    assert sorted(path.name for path in (root / "data").iterdir()) == ["rows-2.jsonl", "rows.jsonl"]
    shown = desk.get("/start?data=data%2Frows.jsonl").text
    count = rows.count(b"\n")
    assert f"<dt>rows</dt><dd>{count}" in shown
    assert "45 by group_id" in shown
    assert '<option value="groundedness" selected>' in shown


@pytest.mark.parametrize("size", [0, 1, 69, 70, 71, 4096, 70_001])
def test_an_upload_of_any_length_arrives_whole(desk: TestClient, root: Path, size: int) -> None:
    """However the chunks fall, and whatever looks like the end of the form in it."""
    content = (b"\r\n--not the end" * (size // 15 + 1))[:size]
    assert send(desk, "x.csv", content)[0] == 303
    assert (root / "data" / "x.csv").read_bytes() == content


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("rows.jsonl", "rows.jsonl"),
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\Users\\x\\My Rows (1).CSV", "My-Rows-1.csv"),
        ("\x1b[2J\u202egpj.csv", "2J-gpj.csv"),
        (".hidden.jsonl", "hidden.jsonl"),
        ("<img src=x onerror=alert(1)>.json", "img-src-x-onerror-alert-1.json"),
        ("con.csv", "file-con.csv"),
        (f"{'x' * 300}.parquet", f"{'x' * 92}.parquet"),
        ("rows.jsonl.gz", "rows.jsonl.gz"),
        *((name, "") for name in ("", "rows", "rows.exe", ".csv", "..csv", "---.jsonl")),
        *((name, "") for name in ("models.yaml", "x.html", "\u202e.csv")),
    ],
)
def test_a_file_name_becomes_a_plain_word_or_is_refused(name: str, stored: str) -> None:
    """Letters, digits, dots and dashes; no folder, no device, nothing hidden, no other ending."""
    if stored:
        assert safe_name(name) == stored
        return
    with pytest.raises(InputError):
        safe_name(name)


def test_an_upload_follows_no_link_and_replaces_no_file(
    desk: TestClient, root: Path, rows: bytes, tmp_path: Path
) -> None:
    """A link of that name in the workspace leads elsewhere; what it leads to stays as it is."""
    mine = tmp_path / "mine.csv"
    mine.write_bytes(rows)
    (root / "data").mkdir()
    os.symlink(mine, root / "data" / "rows.csv")
    os.symlink(tmp_path / "nowhere", root / "data" / "new.csv")
    assert send(desk, "rows.csv", rows)[1].endswith("rows-2.csv")
    assert send(desk, "new.csv", rows)[1].endswith("new-2.csv")
    assert not (tmp_path / "nowhere").exists()
    assert desk.get("/start?data=data%2Frows.csv").text.count("there is no data file") == 1


HEAD = b'--B\r\nContent-Disposition: form-data; name="data"; filename="x.csv"\r\n\r\n'


def test_what_is_no_upload_leaves_nothing(desk: TestClient, root: Path) -> None:
    """Another page's form, no file, a second file, half a form, too much."""
    plain = {"content-type": "multipart/form-data; boundary=B", **HEADERS}

    def much() -> Iterator[bytes]:
        yield HEAD
        for _ in range(MAX_UPLOAD // 10_000_000 + 1):
            yield b"x" * 10_000_000

    for body, code in (
        (b"", 400),
        (b"--B--\r\n", 400),
        (HEAD + b"a,b", 400),
        (HEAD + b"a,b\r\n--B\r\nmore", 400),
        (HEAD.replace(b'"data"', b'"other"') + b"a\r\n--B--\r\n", 400),
        (HEAD.replace(b"x.csv", b"x.exe") + b"a\r\n--B--\r\n", 404),
        (b"x" * 20_000, 400),
        (much(), 413),
    ):
        assert desk.post("/start/upload", content=body, headers=plain).status_code == code
    assert desk.post("/start/upload", data={"data": "x"}, headers=HEADERS).status_code == 415
    assert desk.post("/start/upload", files={"data": ("x.csv", b"a")}).status_code == 403
    assert list((root / "data").iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        "../secret.csv",
        "/etc/passwd",
        ".judgewright/jobs.db",
        "data",
        "",
        "\x00.csv",
        "data/../../secret.csv",
    ],
)
def test_only_data_files_of_the_workspace_are_read(desk: TestClient, root: Path, data: str) -> None:
    """Neither a path that leads out nor anything hidden."""
    (root.parent / "secret.csv").write_text("label,text\n1,CANARY\n")
    for path in ("/start/plan", "/start/run", "/start/measure"):
        answer = plan(desk, form(data=data), path)
        assert answer.status_code == 400
        assert "CANARY" not in answer.text
    assert not (root / ".judgewright").exists()


def test_hostile_rows_names_and_words_stay_text(desk: TestClient, root: Path) -> None:
    """In the check, in the form that comes back, and in the title of a job."""
    line = dict.fromkeys(("id", "source", "statement", ATTACK), ATTACK)
    content = "".join(json.dumps({**line, "label": n % 2}) + "\n" for n in range(30))
    (root / "<b>.jsonl").write_text(content)
    words = {"data": "<b>.jsonl", "objective": f"{OBJECTIVE} {ATTACK}", "other": ATTACK}
    sent = form(**words, guards=ATTACK, label_scale=ATTACK)
    answers = [desk.get("/start?way=measure"), desk.get("/start", params=sent), plan(desk, sent)]
    answers.append(desk.post("/start/reading", data=sent, headers=HEADERS))
    answers += [plan(desk, sent, "/start/ask"), plan(desk, form(**words), "/start/run")]
    settled(root)
    jobs = [f"/jobs/{job.job_id}" for job in queue_of(root).list()]
    answers += [desk.get(path) for path in ("/jobs", *jobs)]
    for answer in answers:
        assert "<script>document" not in answer.text
        assert "<img src=x" not in answer.text
        assert "<b>.jsonl" not in answer.text
    assert "&lt;b&gt;.jsonl" in answers[0].text


def queue_of(root: Path) -> JobQueue:
    """The queue of a workspace."""
    return JobQueue(root, Environment().jobs_key)


def test_the_form_has_every_option_of_the_command() -> None:
    """But for those that have a place of their own, and those that name other files."""
    shown = {field.name for fields in form_fields().values() for field in fields}
    assert shown == {field.name for field, _ in option_fields(OptimizeOptions)} - {
        *OWN_PLACE,
        *NOT_HERE,
    }


def test_the_objective_in_exact_words_is_shown_while_it_is_typed(desk: TestClient) -> None:
    """A fragment of the page; words of another kind want the model, and nothing is asked."""
    told = desk.post("/start/reading", data=form(), headers=HEADERS).text
    assert told.startswith('<div id="reading"')
    assert (
        "Raise precision by making fewer false positives; recall may fall by at most 5 points."
        in told
    )
    told = desk.post("/start/reading", data=form(objective=SENTENCE), headers=HEADERS).text
    assert "In words." in told
    assert "raise precision; recall may fall by 5 points" in told


@pytest.mark.slow
def test_a_models_reading_stands_on_the_page_and_is_taken_by_a_button(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """Until then there is no plan; what was read fills in the goal that the run is started with."""
    send(desk, "rows.jsonl", rows)
    refused = plan(desk, form(objective=SENTENCE))
    assert (refused.status_code, 'taken yet. <a href="#reading">' in refused.text) == (400, True)
    answer = desk.post("/start/plan", data=form(objective=SENTENCE), headers=HEADERS)
    assert answer.headers["location"].endswith("&plan=1#reading"), "the eye is led to what is asked"
    shown = plan(desk, form(objective=SENTENCE), "/start/ask").text
    job = settled(root)
    assert f'data-stream="/start/ask/{job.job_id}/live"' in shown
    asked = form(objective=SENTENCE, asked=job.job_id)
    streamed = desk.get(f"/start/ask/{job.job_id}/live").text
    assert streamed.endswith("event: end\ndata: \n\n")
    for text in (streamed, desk.get("/start", params=asked).text):
        assert "Raise precision by making fewer false positives" in text
        assert "<b>Its loss:</b> <code>" in text
        assert 'formaction="/start/take"' in text
    assert "Its loss" not in desk.get("/start", params=form(asked="nothing")).text
    answer = desk.post("/start/take", data=asked, headers=HEADERS)
    taken = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (taken["target"], taken["guards"]) == (["precision"], ["recall=0.05"])
    assert taken["objective"] == [SENTENCE]
    assert 'id="plan"' in desk.get(answer.headers["location"]).text
    other = desk.post("/start/take", data={**asked, "objective": "be nice"}, headers=HEADERS)
    assert (other.status_code, "has not read these words" in other.text) == (400, True)


@pytest.mark.slow
def test_what_is_not_clear_to_the_model_is_asked_back(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """A dash at the beginning of an objective is no option; other words, or a metric that is
    chosen, settle it.
    """
    send(desk, "rows.jsonl", rows)
    objective = f"--out={root / 'x'} raise precision"
    desk.post("/start/ask", data=form(objective=objective), headers=HEADERS)
    job = settled(root)
    assert job.arguments[-2:] == ("--", objective)
    # The sentence is read, and asked about, by the command itself.
    assert (job.state, job.exit_code, job.good) == ("done", 2, False)
    assert not (root / "x").exists()
    unclear = form(objective=objective, asked=job.job_id)
    shown = desk.get("/start", params=unclear).text
    (asked_back,) = re.findall(r'id="model-reading".*?</div>', shown, re.DOTALL)
    assert "The simulated model reads only the sentences of the demo and the docs" in asked_back
    assert "--" not in asked_back
    assert '<a href="#goal">choose the metric below</a>' in asked_back
    assert '<option value="">as the objective says</option><option>precision' in shown
    in_jobs = desk.get("/jobs").text
    assert "Asked back: what the objective means is" in in_jobs
    assert "--target" not in in_jobs
    other = {**unclear, "objective": "raise precision"}
    assert "Not clear to the model" not in plan(desk, other).text
    for sent, answer in ((other, '<div id="model-reading" hidden></div>'), (unclear, asked_back)):
        assert answer in desk.post("/start/reading", data=sent, headers=HEADERS).text
    by_hand = plan(desk, {**unclear, "target": "precision"})
    assert (by_hand.status_code, 'id="plan"' in by_hand.text) == (200, True)


def test_the_form_shows_few_fields_and_plain_words(desk: TestClient, rows: bytes) -> None:
    """Goal, budget, proposer and steps first, the others folded; no word of the command line
    alone.
    """
    send(desk, "rows.jsonl", rows)
    shown = desk.get("/start", params=form(model="", budget="9.00")).text
    first, _, rest = shown.partition('<details id="rest">')
    named = r'<(?:select|input|textarea)[^>]* name="(\w+)"'
    assert re.findall(named, first.partition('id="goal"')[2]) == [
        *("target", "guards", "floors", "budget", "proposer", "steps"),
    ]
    assert "seed" in re.findall(named, rest)
    assert "(set: budget 9.00)" in first
    assert "Label scale" in rest
    assert "`" not in re.sub("<[^>]*>", "", rest)
    assert "<code>loss write --out</code>" in rest
    assert 'placeholder="FILE"' not in rest
    assert "the simulated model is part of Judgewright" in first, (
        "which is the model that is chosen as it stands"
    )
    assert 'href="#goal"' in desk.post("/start/reading", data=form(), headers=HEADERS).text, (
        "where a guard is changed"
    )


def test_the_plan_says_what_it_means(desk: TestClient, rows: bytes) -> None:
    """Rows that are enough in one case and not in the other; what final rows are for; no hint that
    fits no row.
    """
    send(desk, "rows.jsonl", rows)
    told = plan(desk, form()).text
    found = re.search(
        r"It tests on (\d+) sealed rows.*?about ([\d,]+) sealed rows if recall does not fall at"
        r" all: "
        r"there are (\w+ ?\w*)\. If it falls by half of that it needs ([\d,]+): there are (\w+"
        r" ?\w*)\.",
        told,
        re.DOTALL,
    )
    assert found is not None
    held, *needs = (int(found[n].replace(",", "")) for n in (1, 2, 4))
    assert [found[3], found[5]] == ["enough" if held >= need else "too few" for need in needs]
    assert "Rows without a label" not in told
    assert "beside any gain" in told
    assert "Holdout rows stay sealed: the gate decides on them." in told, (
        "of so few rows none are final"
    )


@pytest.mark.slow
def test_the_plan_comes_before_the_button_and_the_run_is_the_one_that_was_planned(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """What was chosen under "more" is in the plan, in the command and in the run."""
    send(desk, "rows.jsonl", rows)
    assert "Start the run" not in desk.get("/start", params=form()).text
    chosen = {"budget": "9.00", "steps": "1", "seed": "7", "limit": "90", "gate_anyway": "yes"}
    more = form(**chosen, guards="specificity=0.2\nf1=0.3")
    planned = plan(desk, more).text
    for words in ("Start the run", "with every call that the settings allow", "more labels"):
        assert words in planned
    assert 'name="seed" value="7"' in planned
    assert 'name="new"' in planned
    posted = [desk.post("/start/run", data=more, headers=HEADERS) for _ in range(2)]
    assert len({answer.headers["location"] for answer in posted}) == 1
    job = settled(root)
    assert len(queue_of(root).list()) == 1
    with Workspace(root) as workspace:
        (run,) = [run for run in list_runs(workspace.database) if run.kind == "optimize"]
    assert run.run_id == job.run_id
    settings = {name: run.config[name] for name in ("budget", "steps", "seed", "limit", "guards")}
    assert settings == {
        "budget": "9.00",
        "steps": 1,
        "seed": 7,
        "limit": 90,
        "guards": ["specificity=0.2", "f1=0.3"],
    }
    assert f"/runs/{job.run_id}" in desk.get(f"/jobs/{job.job_id}").text
    desk.post("/start/run", data=more, headers=HEADERS)
    again = settled(root)
    assert (again.job_id == job.job_id, again.run_id) == (False, job.run_id), "it has ended"
    desk.post("/start/run", data={**more, "new": "yes"}, headers=HEADERS)
    assert settled(root).run_id not in (None, job.run_id)


@pytest.mark.slow
def test_a_holdout_is_sealed_before_anything_is_measured(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """By a button beside the columns; the judge is measured on the other rows."""
    send(desk, "rows.jsonl", rows)
    assert "/start/seal" in plan(desk, form()).text
    desk.post("/start/seal", data=form(), headers=HEADERS)
    job = settled(root)
    assert job.good, job.message
    with Workspace(root) as workspace:
        (memory,) = HoldoutLedger(workspace.database).history().memories
        assert memory.run_id.startswith("bench --seal")
        (run,) = [run for run in list_runs(workspace.database) if run.kind == "bench"]
        sealed = sum(part.rows for part in memory.sealed.values())
    assert f"{sealed} sealed by bench --seal" in desk.get(f"/runs/{run.run_id}").text


@pytest.mark.slow
def test_measuring_first_shows_slice_and_costs_beside_the_next_plan(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """The run's own beginning: its benchmark, its slice, its loss, and no proposal."""
    send(desk, "rows.jsonl", rows)
    desk.post("/start/measure", data=form(), headers=HEADERS)
    job = settled(root)
    with Workspace(root) as workspace:
        (run,) = [run for run in list_runs(workspace.database) if run.run_id == job.run_id]
    assert run.config["steps"] == 0
    assert (job.good, job.message.partition(":")[0]) == (True, "measured")
    measured = desk.get(f"/runs/{job.run_id}").text
    assert "Plan the search" in measured
    assert "What an answer costs" in measured
    assert "by the gate" not in measured + desk.get("/").text
    onward = desk.post(f"/runs/{job.run_id}/next", data={"comment": ""}, headers=HEADERS).headers[
        "location"
    ]
    assert "steps" not in onward
    assert "objective=Precision" in onward


def renamed(rows: bytes, names: dict[str, str], *, without: str = "_words") -> bytes:
    """The rows with columns of other names, and without some."""
    lines = [
        {names.get(name, name): value for name, value in json.loads(line).items()}
        for line in rows.splitlines()
    ]
    kept = [{name: v for name, v in line.items() if without not in name} for line in lines]
    return "".join(json.dumps(line) + "\n" for line in kept).encode()


def test_columns_with_other_names_are_chosen_beside_the_judge(
    desk: TestClient, rows: bytes
) -> None:
    """What is not sure is said, each column has a list, and check, plan and command read the
    columns that were chosen.
    """
    names = {"source": "material", "statement": "wording", "label": "mark9", "group_id": ATTACK}
    send(desk, "rows.jsonl", renamed(rows, names))
    shown = desk.get("/start", params=form()).text
    assert "Not clear: the judge&#39;s source (no column has a name that is known for it)" in shown
    assert ATTACK not in shown
    chosen = {"column-source": "material", "column-statement": "wording"}
    chosen |= {"label": "mark9", "group": ATTACK}
    picks = [f"{role}={column}" for role, column in chosen.items()]
    checked = plan(desk, form(pick=picks, agreed="yes"), "/start/check").text
    assert "Columns <span" in checked
    assert "45 by &lt;script&gt;" in checked
    assert "source (median" in checked
    planned = plan(desk, form(pick=picks))
    assert (planned.status_code, "Start the run" in planned.text) == (200, True)
    # Another judge has other inputs; the answer while one types says so.
    sent = form(pick=picks, judge="answer_correctness")
    other = desk.post("/start/reading", data=sent, headers=HEADERS).text
    assert 'value="column-gold_answer=' in other
    wrong = plan(desk, form(**{**chosen, "label": "material"}), "/start/check").text
    assert "Not clear: people&#39;s label" in wrong
    assert 'value="column-source=' in wrong
    grouped = plan(desk, form(**{**chosen, "group": "material"}), "/start/check").text
    assert "by material" in grouped
    assert '<input type="hidden" name="group" value="material">' in grouped
    twice = form(pick=[*picks, "label=material"])
    refused = desk.post("/start/check", data=twice, headers=HEADERS)
    assert refused.status_code == 404
    assert "both &#39;mark9&#39; and &#39;material&#39; are chosen as people&#39;s label" in (
        refused.text
    )


def test_columns_are_guessed_by_what_they_are_usually_called(desk: TestClient, rows: bytes) -> None:
    """They are chosen beforehand and shown with their values; agreed to they fold away."""
    names = {"source": "context", "statement": "answer", "label": "correct"}
    send(desk, "rows.jsonl", renamed(rows, names))
    shown = desk.get("/start", params=form()).text
    assert "are these the right ones?" in shown
    assert "Guessed from their names." in shown
    assert 'name="label_map"' in shown
    picks = ["column-source=context", "column-statement=answer", "label=correct"]
    for pick in picks:
        assert f'<option value="{pick}" selected>' in shown
    assert "read as: &#39;" in shown
    agreed = plan(desk, form(pick=picks, agreed="yes"), "/start/check").text
    assert "are these the right ones?" not in agreed
    assert "(the judge&#39;s source from context, the judge&#39;s statement from answer" in agreed
    # While one goes on filling in the form they stay agreed to.
    typed = desk.post("/start/reading", data=form(pick=picks), headers=HEADERS).text
    assert "are these the right ones?" in typed
    typed = desk.post("/start/reading", data=form(pick=picks, agreed="yes"), headers=HEADERS).text
    assert "are these the right ones?" not in typed
    planned = plan(desk, form(pick=picks))
    assert (planned.status_code, "Start the run" in planned.text) == (200, True)


@pytest.mark.parametrize(
    "fault",
    [{"model": ""}, {"judge": "x.yaml"}, {"objective": ""}, {"steps": "many"}, {"budget": "?"}],
)
def test_a_form_that_is_wrong_comes_back_with_the_reason(
    desk: TestClient, root: Path, rows: bytes, fault: dict[str, str]
) -> None:
    """Nothing is queued, and what was typed stays."""
    send(desk, "rows.jsonl", rows)
    answer = plan(desk, form(**{"max_tokens": "99", **fault}))
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert 'name="max_tokens" value="99"' in answer.text
    assert queue_of(root).list() == ()


@pytest.mark.parametrize(
    "text", ["a\nevent: end\ndata: x", "a\r\nb", "a\rid: 7\r\rdata: y", "", "\x00\u2028"]
)
def test_no_text_in_an_event_becomes_another_event(text: str) -> None:
    """Read as the standard says: fields end at CR LF, CR or LF, an event at an empty line."""
    lines = re.split("\r\n|\r|\n", event("renew", text).decode())
    assert lines[0] == "event: renew"
    assert lines[-2:] == ["", ""]
    assert all(line.startswith("data: ") for line in lines[1:-2])
    assert "\n".join(line.removeprefix("data: ") for line in lines[1:-2]) == re.sub(
        "\r\n?", "\n", text
    )


@pytest.mark.slow
def test_a_large_file_is_checked_in_a_process_of_its_own_and_told_as_a_small_one(
    desk: TestClient, root: Path, rows: bytes
) -> None:
    """What is wrong with it stands where it stands for a small one, too."""
    lines = [json.loads(line) for line in rows.splitlines()]
    padding = " " * (BYTES_HERE // len(lines))
    send(desk, "small.jsonl", rows)
    send(desk, "large.jsonl", "".join(f"{json.dumps(line)}{padding}\n" for line in lines).encode())
    lines[3]["label"] = "perhaps"
    send(desk, "wrong.jsonl", "".join(f"{json.dumps(line)}{padding}\n" for line in lines).encode())

    def facts(shown: str) -> list[str]:
        return re.findall(r"<dt>(?:rows|labels|groups)</dt><dd>.*?</dd>", shown)

    small = desk.get("/start", params=form(data="data/small.jsonl")).text
    large = when_done(desk, "/start", params=form(data="data/large.jsonl")).text
    assert len(facts(small)) == 3
    assert facts(large) == facts(small)
    assert re.findall("<dt>price.*?</dd>", large) == re.findall("<dt>price.*?</dd>", small)
    wrong = when_done(desk, "/start", params=form(data="data/wrong.jsonl"))
    assert (wrong.status_code, "perhaps" in wrong.text, 'role="alert"' in wrong.text) == (
        200,
        True,
        True,
    )
