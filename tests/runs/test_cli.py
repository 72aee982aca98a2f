"""The command line: what it prints, in which form, and how it leaves."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from judgewright.runs.cli import COMMANDS, RETIRED
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace, create_run, list_runs

from .run_command import run_code as run

README = Path(__file__).resolve().parents[2] / "README.md"
VERDICTS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "verdicts"
SUBCOMMANDS = {
    "judges": ("list", "show", "use", "add"),
    "runs": ("list", "show", "edit", "resume", "stop", "work"),
    "export": ("judge", "verify"),
    "loss": ("write", "check"),
    "data": ("check", "split", "import"),
    "models": ("list", "add", "test", "simulate"),
}
EVERY = [(name,) for name in COMMANDS if name not in SUBCOMMANDS] + [
    (n, s) for n, subs in SUBCOMMANDS.items() for s in subs
]
BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "simulated")
OPTIMIZE = ("optimize", "groundedness", "rows.jsonl", "--model", "simulated")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with forty documents of made-up rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    return tmp_path


def parsed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The one JSON object a command printed."""
    body = json.loads(capsys.readouterr().out)
    assert body["schema_version"] == 1
    return body


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_explains_itself_with_an_example(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--help` says what it does and shows one way to call it."""
    assert run(*command, "--help") == 0
    out = capsys.readouterr().out
    assert "Usage: judgewright" in out
    assert "Example:" in out


def test_bench_prints_a_table_and_the_second_time_asks_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are the same, the second time from the record; the verdicts can be scored
    again.
    """
    assert run(*BENCH, "--by", "channel", "--out", "v.jsonl", "--json") == 0
    first = parsed(capsys)
    assert run(*BENCH, "--json") == 0
    second = parsed(capsys)
    assert first["metrics"] == second["metrics"]
    assert (first["calls"], second["calls"]) == (first["n"], 0)
    assert set(first["by"]) == {"web", "pdf", "chat", "table"}  # type: ignore[arg-type]
    assert (
        run(
            *shlex.split(
                "score v.jsonl --score verdict --confidence confidence --group group --json"
            )
        )
        == 0
    )
    again = parsed(capsys)
    assert again["confusion"] == first["confusion"]
    assert again["metrics"]["auroc"]["value"] == first["metrics"]["auroc"]["value"]  # type: ignore[index]
    assert run(*BENCH) == 0
    out = capsys.readouterr().out
    assert "SIMULATED" in out
    assert "precision" in out


def test_a_walk_its_diff_and_its_rejection(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """optimize leaves with 0 or 1 by its decision; runs, slices and diff read it back; reject
    closes it.
    """
    code = run(
        *OPTIMIZE, "--objective", "raise precision", "--steps", "2", "--gate-anyway", "--json"
    )
    body = parsed(capsys)
    assert code == (0 if body["decision"]["accepted"] else 1)  # type: ignore[index]
    assert {"run", "decision", "prompt", "calls", "cost", "simulated"} <= set(body)
    name = str(body["run"])
    assert run("runs", "list", "--json") == 0
    assert [r["run_id"] for r in parsed(capsys)["runs"]] == [name]  # type: ignore[attr-defined, index]
    assert run("runs", "show", name) == 0
    shown = capsys.readouterr().out
    assert all(
        step in shown
        for step in ("1. Benchmark", "2. Slice", "3. Loss", "4. Better prompts", "5. Gate")
    )
    assert run("runs", "resume", name, "--json") == code
    assert parsed(capsys)["decision"] == body["decision"]
    assert run("slices", name, "--json") == 0
    assert "slices" in parsed(capsys)
    assert run("diff", name) == 0
    assert "Gate:" in capsys.readouterr().out
    assert run("reject", name, "--by", "ann", "--comment", "no") == 0
    assert run("accept", name) in (1, 2)


def test_the_demo_ends_well_and_prints_the_five_steps(folder: Path) -> None:
    """Five steps, a slice, a loss, a decision and a figure for everything, all marked as simulated.

    The verdict with its gain and the next two commands stand in the last lines, where a person
    still sees them, and what the README shows of it is what is printed.
    """
    start = (
        "import sys; sys.argv[0] = '.venv/bin/judgewright'; from judgewright.runs.cli import main;"
        " main()"
    )
    command = [sys.executable, "-c", start, "demo", "--dir", "demo"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.rstrip("\n")
    readme = README.read_text(encoding="utf-8").partition("`make demo` then")[2].split("```")[1]
    printed = iter(out.splitlines())
    missing = [
        line
        for line in readme.strip("\n").splitlines()
        if line.strip() != "..." and line not in printed
    ]
    assert missing == []
    assert out.splitlines()[-8].startswith("ACCEPTED  [SIMULATED")
    assert run("accept", "latest", "--workspace", "demo", "--by", "ann") == 0
    assert all(
        step in out
        for step in ("1. Benchmark", "2. Slice", "3. Loss", "4. Better prompts", "5. Gate")
    )
    assert "SIMULATED" in out
    assert "chosen: " in out
    assert "The whole benchmark" in out  # the demo ends in an accept


def test_judges_are_listed_shown_and_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shelf from the command line."""
    assert run("judges", "list") == 0
    assert "context_relevance" in capsys.readouterr().out
    assert run("judges", "show", "groundedness") == 0
    shown = capsys.readouterr().out
    Path("mine.yaml").write_text(
        "\n".join(
            x
            for x in shown.replace("fully grounded", "ungrounded").splitlines()
            if not x.startswith("version")
        )
    )
    assert run("judges", "show", "groundedness", "mine.yaml") == 0
    assert "ungrounded" in capsys.readouterr().out
    assert run("judges", "list", "groundedness", "--json") == 0
    assert len(parsed(capsys)["log"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["yaml", "jinja"])
def test_exports_carry_the_prompt_and_its_origin(
    folder: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """YAML reads back as the same version; the messages hold the placeholders."""
    assert run("export", "groundedness", "--to", target, "--out", "out.txt") == 0
    text = Path("out.txt").read_text()
    capsys.readouterr()
    if target == "yaml":
        Path("out.yaml").write_text(text)
        assert run("judges", "show", "groundedness", "out.yaml", "--json") == 0
        assert parsed(capsys)["diff"] == ""
        assert "never gated" in text
    else:
        messages = json.loads(text)
        assert "{{ source }}" in messages[-1]["content"]
        assert [m["role"] for m in messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("bench", "nope", "rows.jsonl", "--model", "simulated"), 2, "nope"),
        (("bench", "groundedness", "missing.jsonl", "--model", "simulated"), 2, "missing.jsonl"),
        ((*BENCH, "--budget", "lots"), 2, "lots"),
        ((*BENCH, "--column", "source"), 2, "INPUT=COLUMN"),
        ((*BENCH, "--budget", "9tokens"), 3, "budget"),
        (("optimize", "groundedness", "rows.jsonl"), 2, "--objective"),
        ((*OPTIMIZE, "--objective", "x", "--target", "presicion"), 2, "precision"),
        ((*OPTIMIZE, "--objective", "raise f1", "--slice", "colour = red"), 2, "colour"),
        (("runs", "show", "20200101-000000-abcdef"), 2, "workspace"),
        (("score", "rows.jsonl", "--score", "nothing"), 2, "nothing"),
        (("models", "simulate", "--faults", "gremlins=1"), 2, "gremlins"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_errors_say_what_was_wrong_and_leave_with_the_kind_of_fault(
    folder: Path,
    arguments: tuple[str, ...],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """2 for the caller, 3 for the world; the message names the thing; never a traceback."""
    assert run(*arguments) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_an_error_is_json_too_where_json_was_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--json` even a failure is one object on stdout."""
    assert run("bench", "nope", "rows.jsonl", "--model", "simulated", "--json") == 2
    assert parsed(capsys)["error"]["exit"] == 2  # type: ignore[index]


def test_published_verdicts_give_the_published_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """DIRAS, GPT-4 with definition: binary F1 as printed in the paper; TREC-DL 2019 runs with its
    groups.
    """
    if not VERDICTS.exists():
        pytest.skip("shared/data is not beside this checkout")
    name = "diras_chatreport.gpt-4-0125-preview.jsonl"
    expected = json.loads((VERDICTS / "expected.json").read_text())[name]["binary_F1"]["published"]
    arguments = ("--label", "label", "--score", "verdict", "--confidence", "confidence", "--json")
    assert run("score", str(VERDICTS / name), *arguments) == 0
    body = parsed(capsys)
    assert round(100 * body["metrics"]["f1"]["value"], 2) == expected  # type: ignore[index]
    assert set(body["confusion"]) == {"tp", "fp", "fn", "tn"}  # type: ignore[call-overload]
    trec = str(VERDICTS / "trecdl19.gpt-4o-umbrela.jsonl")
    groups = ("--threshold", "2", "--group", "metadata.query_id", "--json")
    assert run("score", trec, *groups) == 0
    assert parsed(capsys)["groups"] == 43
    assert run("slices", trec, "--metric", "precision", *groups) == 0
    slices = parsed(capsys)["slices"]
    keys = {"predicate", "n", "value", "rest", "p", "direction", "expected_gain", "confirmed"}
    assert all(keys <= set(one) for one in slices)  # type: ignore[attr-defined]


def test_the_threshold_is_told_and_the_plan_bounds_the_calls(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_demo_rows(folder / "rows.jsonl", documents=150)
    sentence = "raise precision; lose at most 20 points of recall"
    goal = ("--objective", sentence, "--target", "precision", "--guard", "recall=0.2")
    options = ("groundedness", "rows.jsonl", "--model", "simulated", *goal)
    assert run("optimize", "--plan", *options, "--steps", "5", "--json") == 0
    planned = parsed(capsys)
    assert run("optimize", *options, "--steps", "5", "--gate-anyway", "--json") in (
        0,
        1,
    )
    body = parsed(capsys)
    assert body["calls"] <= planned["calls"]["at_most"]  # type: ignore[index, operator]
    assert run("runs", "show", str(body["run"])) == 0
    out = capsys.readouterr().out
    assert " threshold " in out[: out.index("2. Slice")]


def test_an_import_takes_no_name_from_a_judge_in_force_and_use_gives_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a name means changes by `judges use` alone, there and back."""
    Path("p.txt").write_text(
        "Compare them.\n\nBe strict.\n\nSource: {source}\nStatement: {statement}\n\n"
        "Reply with a line Score: and 0 to 3.\n"
    )
    assert run("judges", "list", "--json") == 0
    before = {j["name"]: j["version"] for j in parsed(capsys)["judges"]}  # type: ignore[union-attr,index]
    options = ("--scale", "0..3", "--verdict", "Score: ...", "--criteria", "Be strict.")
    assert run("judges", "add", "p.txt", "--as", "groundedness", *options) == 0
    told = capsys.readouterr().out
    version = told.split("@")[1].split()[0]
    assert f"judges use groundedness@{version}" in told
    assert run("judges", "show", "groundedness", "--json") == 0
    assert parsed(capsys)["version"] == before["groundedness"]
    for wanted in (version, before["groundedness"]):
        assert run("judges", "use", f"groundedness@{wanted}") == 0
        capsys.readouterr()
        assert run("judges", "show", "groundedness", "--json") == 0
        assert parsed(capsys)["version"] == wanted


def test_a_dead_endpoint_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody listens on port 9: the reason stands beside the refusal."""
    assert (
        run(*shlex.split("bench groundedness rows.jsonl --model x@http://127.0.0.1:9/v1 --limit 1"))
        == 3
    )
    err = capsys.readouterr().err
    assert "the endpoint answered no row: http://127.0.0.1:9/v1 cannot be reached" in err
    assert "see that the server runs" in err
    with Workspace(folder) as place:
        assert list_runs(place.database)[-1].state == "stopped"


def test_an_example_stands_on_one_line_however_narrow_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Half a command pasted is another command."""
    assert run("calibrate", "--help") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Example:" in line]
    assert line.endswith("--method isotonic")


@pytest.mark.parametrize("name", [name for name in RETIRED if not name.startswith("--")])
def test_a_retired_command_says_what_to_do_instead(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit 2, whatever follows its name; the help does not list it."""
    assert run(*name.split(), "groundedness", "rows.jsonl", "--trials", "3", "--help") == 2
    assert capsys.readouterr().err == f"error: `{name}` was removed: {RETIRED[name]}\n"
    assert run("--help") == 0
    assert f"\n  {name} " not in capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name in RETIRED if name.startswith("--")])
def test_a_retired_option_says_what_to_do_instead(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit 2, wherever it was an option."""
    assert run("optimize", "groundedness", "rows.jsonl", name, "3") == 2
    assert capsys.readouterr().err == f"error: `{name}` was removed: {RETIRED[name]}\n"


def test_an_option_that_one_command_lost_is_unknown_to_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What to type belongs to its command; so does a value, however it is joined to its option."""
    assert run("demo", "--limit", "3") == 2
    assert "No such option" in capsys.readouterr().err
    assert run("runs", "show", "x", "--format=jsonl") == 2
    assert "type `runs show RUN --json`" in capsys.readouterr().err
    assert run("runs", "show", "x", "--format", "pdf") == 2
    assert "'pdf' is not one of" in capsys.readouterr().err


def test_a_run_of_the_retired_tune_is_listed_and_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old workspace opens; such a run cannot go on."""
    with Workspace(folder) as place:
        study = create_run(place.database, "tune", {"model": "simulated"})
    assert run("runs", "list") == 0
    assert f"{study}  tune" in capsys.readouterr().out
    assert run("runs", "show", study) == 0
    assert "`judgewright tune`, which was removed" in capsys.readouterr().out
    assert run("runs", "resume", study) == 2
    assert "is a tune, not an optimization" in capsys.readouterr().err
