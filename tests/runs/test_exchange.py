"""Commands that ask through files: they end with 3 and what is awaited, and go on with the
replies.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges.simulated import Server, Simulated
from judgewright.judges.simulated.chat import read_request
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, Workspace, list_runs

from ..batch_server import BatchServer

OPTIMIZE = (
    "--objective",
    "do not call unsupported statements grounded",
    "--target",
    "precision",
    "--steps",
    "2",
    "--gate-anyway",
)

FILES = ("--model", "by-hand", "--via", "files=x")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A hundred made-up labelled rows, in the folder where the commands are given."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=30)
    return "rows.jsonl"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Give a command; return its exit code and what it printed as JSON."""
    code = 0
    try:
        main([*words, "--json"])
    except SystemExit as end:
        code = int(end.code or 0)
    return code, json.loads(capsys.readouterr().out)


def answer(folder: Path, *, cut: int = 0) -> int:
    """Answer the newest request file with the simulated model's replies; return how many requests
    it has.

    Args:
        folder: The exchange folder.
        cut: So many replies, from the first, end at the limit of tokens.
    """
    newest = sorted(folder.glob("requests-*.jsonl"))[-1]
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    replies = []
    for line in lines:
        completion = asyncio.run(Simulated().complete(read_request(line["body"])))
        reply = {"custom_id": line["custom_id"], "content": completion.text}
        if len(replies) < cut:
            choice = {
                "message": {"role": "assistant", "content": "It is"},
                "finish_reason": "length",
            }
            body = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 512}}
            reply = {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}
        replies.append(json.dumps(reply))
    (folder / newest.name.replace("requests", "replies")).write_text("\n".join(replies))
    return len(lines)


def summaries(folder: Path) -> list[Any]:
    """The counts of each run's calls."""
    with Workspace(folder) as workspace:
        return [
            CallStore(workspace.database, one.run_id).summary()
            for one in list_runs(workspace.database)
        ]


def test_the_same_command_again_goes_on_with_the_replies(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` says what is awaited; the calls belong to the run that has the replies, and nothing
    is left in doubt.
    """
    command = ("bench", "groundedness", rows, *FILES, "--repeat", "2")
    code, body = run(capsys, *command)
    assert code == 3
    assert body["error"]["kind"] == "Waiting"
    assert body["error"]["hint"].endswith("the same command, or `runs resume`, goes on then")
    awaits = body["error"]["awaits"]
    assert awaits["via"] == "files"
    (file,) = awaits["files"]
    assert file["requests"] == awaits["requests"]
    assert answer(Path("x")) == awaits["requests"], "both rounds are in one file"
    code, body = run(capsys, *command)
    assert (code, body["calls"]) == (0, awaits["requests"])
    first, second = summaries(Path())
    assert (first.attempts, first.in_doubt) == (0, 0)
    assert (second.done, second.attempts, second.in_doubt) == (
        awaits["requests"],
        awaits["requests"],
        0,
    )


@pytest.mark.slow
def test_a_run_goes_through_files_to_its_end(
    rows: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Judge and optimizer are asked in few exchanges; the folder is known wherever the run is
    resumed.
    """
    _, plan = run(capsys, "optimize", "--plan", "groundedness", rows, *OPTIMIZE, *FILES)
    code, body = run(capsys, "optimize", "groundedness", rows, *OPTIMIZE, *FILES)
    folder, exchanges = Path("x").resolve(), 0
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    while code == 3:
        assert body["error"]["kind"] == "Waiting"
        assert "runs resume" in body["error"]["hint"]
        assert answer(folder) == body["error"]["awaits"]["requests"]
        exchanges += 1
        code, body = run(capsys, "runs", "resume", "latest", "--workspace", str(folder.parent))
    assert code in (0, 1)
    assert exchanges <= 22  # two arms may be written from all rows, one after the other
    assert exchanges <= plan["exchanges"] <= 60
    (summary,) = summaries(folder.parent)
    assert (summary.repeated, summary.in_doubt, summary.done) == (0, 0, summary.attempts)


def test_a_batch_is_resumed_by_the_same_command(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--no-wait` hands it over and ends; its id is in the workspace, and its price is half."""
    with Server(BatchServer(looks=1).app()) as server:
        Path("mine.yaml").write_text(
            f"priced:\n  model: simulated\n  base_url: {server.base_url}\n"
            "  price: {input: 1, output: 1}\n"
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUDGEWRIGHT_MODELS", str(Path("mine.yaml").resolve()))
            model = "priced"
            command = (
                "bench",
                "groundedness",
                rows,
                "--model",
                model,
                "--via",
                "batch",
                "--no-wait",
            )
            code, body = run(capsys, *command)
            assert code == 3
            awaits = body["error"]["awaits"]
            assert [batch["status"] for batch in awaits["batches"]] == ["validating"]
            kept = Path(".judgewright/batches")
            assert [path.name[:10] for path in kept.glob("*/*.jsonl")] == ["requests-0"]
            code, body = run(capsys, *command)
            assert (code, body["calls"]) == (0, awaits["requests"])
            # What the record has is kept twice no longer.
            assert [path.name for path in kept.rglob("*") if path.is_file()] == ["README.txt"]
            assert run(capsys, *command)[1]["calls"] == 0
    _, second, _ = summaries(Path())
    assert second.cost == pytest.approx(second.tokens / 2e6)
    assert second.in_doubt == 0


def test_a_run_goes_through_batches_while_the_optimizer_is_asked_live(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command to the end where the queue is quick; each request is made once, by one of the two
    ways.
    """
    batches = BatchServer()
    with Server(batches.app()) as server:
        model = f"simulated@{server.base_url}"
        code, _ = run(
            capsys, "optimize", "groundedness", rows, *OPTIMIZE, "--model", model, "--via", "batch"
        )
        assert code in (0, 1)
        url = server.base_url.removesuffix("/v1") + "/stats"
        with urllib.request.urlopen(url) as answer:
            stats = json.loads(answer.read())
    (summary,) = summaries(Path())
    assert (summary.repeated, summary.in_doubt) == (0, 0)
    assert stats["billed"] == stats["bodies"] == summary.done - len(batches.billed)
    assert {*batches.billed.values()} == {1}
    assert 0 < stats["requests"] < len(batches.billed), (
        "the optimizer's requests were calls, the judge's none"
    )
    assert len(batches.batches) <= 9


@pytest.mark.slow
@pytest.mark.parametrize("via", ["files", "batch"])
def test_killed_at_any_change_of_its_folder_a_command_loses_and_repeats_nothing(
    rows: str, via: str
) -> None:
    """Kill -9 when a request file, a batch's id or a reply file appears; the next command goes on
    from there.
    """
    folder = Path("x" if via == "files" else ".judgewright/batches")
    batches = BatchServer()
    with Server(batches.app()) as server:
        model = "by-hand" if via == "files" else f"simulated@{server.base_url}"
        command = [
            sys.executable,
            "-m",
            "judgewright",
            "bench",
            "groundedness",
            rows,
            "--model",
            model,
            "--via",
            "files=x" if via == "files" else via,
        ]
        code: int | None = None
        for change in (1, 2, 3, 4, None):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            changes, before = 0, files_in(folder)
            while process.poll() is None and changes != change:
                now = files_in(folder)
                changes += now != before
                before = now
            if change is not None:
                process.kill()
            process.communicate()
            code = process.returncode
            if code == 3:
                answer(folder)
                code = subprocess.run(command, capture_output=True, check=False).returncode
        assert code == 0
    counts = summaries(Path())
    done = sum(summary.done for summary in counts)
    assert done > 0
    assert sum(summary.repeated for summary in counts) == 0
    assert sum(summary.attempts for summary in counts) == done, (
        "what a kill cut off is gone on with"
    )
    if via == "batch":
        assert list(batches.billed.values()) == [1] * done
    else:
        assert [len(file.read_text().splitlines()) for file in folder.glob("requests-*.jsonl")] == [
            done
        ]


def files_in(folder: Path) -> frozenset[tuple[str, int]]:
    """The files of an exchange as they are now."""
    found: set[tuple[str, int]] = set()
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found.add((str(path), path.stat().st_mtime_ns))
    return frozenset(found)


def test_an_exchange_without_a_folder_is_refused_before_there_is_a_run(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a folder without files to write has no effect."""
    code, body = run(capsys, "bench", "groundedness", rows, "--model", "by-hand", "--via", "files")
    assert (code, body["error"]["hint"]) == (2, "such as --via files=exchange")
    code, body = run(
        capsys, "bench", "groundedness", rows, "--model", "simulated", "--via", "batch"
    )
    assert (code, body["error"]["hint"]) == (
        2,
        "leave out --via, or serve it with `judgewright models simulate`",
    )
    code, _ = run(
        capsys,
        "optimize",
        "groundedness",
        rows,
        *OPTIMIZE,
        "--model",
        "m",
        "--optimizer-via",
        "files",
    )
    assert code == 2
    with Workspace(Path()) as workspace:
        assert not workspace.exists or list_runs(workspace.database) == ()


def test_replies_that_were_cut_go_out_once_more(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With twice the room, in one further file."""
    command = ("bench", "groundedness", rows, *FILES)
    assert run(capsys, *command)[0] == 3
    answer(Path("x"), cut=5)
    code, body = run(capsys, *command)
    assert (code, body["error"]["awaits"]["requests"]) == (3, 5)
    newest = sorted(Path("x").glob("requests-*.jsonl"))[-1]
    assert {json.loads(line)["body"]["max_tokens"] for line in newest.read_text().splitlines()} == {
        1024
    }
    answer(Path("x"))
    code, body = run(capsys, *command)
    assert (code, body["calls"], body["unscored"]) == (0, 5, {})


@pytest.mark.slow
def test_a_run_that_is_resumed_prints_what_is_new(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """While replies are missing that is the line on what it waits for; `runs show` has the rest."""
    assert run(capsys, "optimize", "groundedness", rows, *OPTIMIZE, *FILES)[0] == 3
    answer(Path("x"))

    def resumed() -> tuple[str, list[str]]:
        with contextlib.suppress(SystemExit):
            main(["runs", "resume", "latest"])
        captured = capsys.readouterr()
        return captured.out, captured.err.splitlines()

    out, _ = resumed()
    assert "1. Benchmark" in out
    out, err = resumed()
    assert out == ""
    assert [line.partition(" ")[0] for line in err] == ["waiting", "hint:"]
    main(["runs", "show", "latest"])
    assert "were handed over and are not answered yet" in capsys.readouterr().out
    outs: list[str] = []
    while any(line.startswith("waiting") for line in err):
        answer(Path("x"))
        out, err = resumed()
        outs.append(out)
    assert "1. Benchmark" not in "".join(outs)
    assert "cost including resumes" in outs[-1]
