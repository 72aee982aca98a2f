"""Commands whose judging is done by a cluster end as without one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from judgewright.judges import InputError
from judgewright.runs.cli import cli
from judgewright.runs.demo.rows import write_demo_rows

pytest.importorskip("distributed")


def run(*words: str) -> str:
    """Give a command, and return what it prints but for the names of runs."""
    result = CliRunner().invoke(cli, list(words))
    assert result.exception is None, result.output
    return "\n".join(line for line in result.stdout.splitlines() if "20" not in line[:20])


def test_a_bench_is_the_same_by_a_cluster_and_says_who_judged(tmp_path: Path) -> None:
    """The same figures, by two workers and by one process."""
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows, documents=12)
    told = {}
    for name, engine in (("dask", ("--engine", "dask=2")), ("here", ())):
        flags = ("--model", "simulated", "--workspace", str(tmp_path / name), *engine)
        told[name] = run("bench", "groundedness", str(rows), *flags)
    assert told["dask"] == told["here"]
    assert "Calls sent by dask=2" in run(
        "runs", "show", "latest", "--workspace", str(tmp_path / "dask")
    )
    assert "Calls sent by" not in run(
        "runs", "show", "latest", "--workspace", str(tmp_path / "here")
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--engine", "grid"), "no plug-in brings --engine grid"),
        (("--engine", "dask=many"), "neither 1 to 256 workers nor the address"),
        (("--engine", "dask=0"), "neither 1 to 256 workers"),
        (
            ("--engine", "dask", "--via", "batch"),
            "--engine dask makes single calls, and --via batch none",
        ),
        (("--engine", "dask=tcp://10.0.0.1:1"), "is another machine"),
        (("--engine", "dask=tls://10.0.0.1:1"), "cannot write to"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    """Before anything is started, with what to do."""
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows, documents=3)
    words = [
        "bench",
        "groundedness",
        str(rows),
        "--model",
        "m@http://127.0.0.1:9/v1",
        "--workspace",
        str(tmp_path),
    ]
    result = CliRunner().invoke(cli, [*words, *options])
    assert isinstance(result.exception, InputError), result.output
    assert why in str(result.exception)
    assert result.exception.hint
