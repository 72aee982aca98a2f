"""A run written for others: what stands in each file, and what never does."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from judgewright.judges import InputError, Registry, load_dataset, split_dataset
from judgewright.runs.actions import (
    RunSummary,
    both_sides,
    flips_of,
    read_optimization,
    record_review,
    start_run,
)
from judgewright.runs.actions.flips import BothSides
from judgewright.runs.cli import main
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports import FORMATS, export_run, render_html, render_markdown
from judgewright.runs.store import RunConfig, Workspace, create_run

PROMPT = Registry().get("groundedness")
HOSTILE = "</textarea><script>alert(1)</script> ``` @team #1 javascript:x"
COMMENT = "reads well, see @team and #12 | <b>now</b> http://x.example \x1b]52;c;AA\x07 \u202e"


@dataclass(frozen=True)
class Kept:
    """A workspace with one accepted run, and the files it was written to."""

    place: Workspace
    run_id: str
    folder: Path
    sealed: set[str]
    """A word of each sealed row that no other row has."""
    open: set[str]


def mark(rows: Path) -> None:
    """Give every statement a word of its own."""
    lines = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    for i, line in enumerate(lines):
        word = "".join(chr(ord("a") + int(digit)) for digit in f"{i:04}")
        line["statement"] += f" canary{word}x"
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """A run that the gate and a person accepted."""
    root = tmp_path_factory.mktemp("export")
    rows = root / "rows.jsonl"
    write_demo_rows(rows, documents=180)
    mark(rows)
    edit = PROMPT.edited(
        criteria=(
            f"{PROMPT.criteria}\nCompare each number with the source, and grade low if it does not"
            f" appear there.\n{HOSTILE}"
        )
    )
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(rows),
        objective="precision; recall may fall by 30 points",
        proposer="human",
        edit=edit.to_yaml(),
        slice="channel = web",
    )
    with Workspace(root / "work") as place:
        run = start_run(place, config, Environment())
        assert run.run.decided.accepted
        record_review(place, run.run_id, accept=True, who="Ann <ann@example.org>", comment=COMMENT)
        export_run(place, run.run_id, root / "out", formats=tuple(FORMATS))
        data = load_dataset(rows, inputs=PROMPT.inputs, scale=PROMPT.scale)
        parts = split_dataset(data, shares=config.shares)
        known = {row.id for part in (parts.train, parts.validation) for row in part.rows}
        words = {row.id: row.inputs["statement"].rpartition(" ")[2] for row in data.rows}
        yield Kept(
            place=place,
            run_id=run.run_id,
            folder=root / "out",
            sealed={word for row_id, word in words.items() if row_id not in known},
            open={word for row_id, word in words.items() if row_id in known},
        )


def test_every_format_writes_its_files_and_leaves_nothing_half_written(kept: Kept) -> None:
    """One page, one Markdown, and no temporary ones."""
    assert sorted(path.name for path in kept.folder.iterdir()) == ["run.html", "run.md"]


def test_no_sealed_row_is_in_any_file(kept: Kept) -> None:
    """A word of each holdout and final row is looked for in all of them; words of open rows are
    there.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in kept.folder.iterdir())
    found = set(re.findall(r"canary[a-j]{4}x", text))
    assert len(kept.sealed) > 100
    assert not found & kept.sealed
    assert found & kept.open


def test_the_page_is_self_contained_inert_and_says_what_it_is(kept: Kept) -> None:
    """No script, nothing fetched, what was written by others is escaped, simulated is said."""
    page = (kept.folder / "run.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "SIMULATED" in page
    assert not re.search(r"<(script|link|img|iframe|object|form|base)\b", page)
    assert not re.search(r"""(src|href)=["'](?!#)""", page.partition("</style>")[2])
    assert not re.search(r"\son\w+=", page)
    assert not set(re.findall(r"[\x00-\x08\x0b-\x1f\u202e]", page))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<svg") == 2  # the slice was named, so none was searched


def test_the_page_and_the_markdown_say_who_decided_when_and_on_what_text(kept: Kept) -> None:
    """Name, time, comment and version in both; the exact text in the page."""
    page, markdown = (
        (kept.folder / f"run.{end}").read_text(encoding="utf-8") for end in ("html", "md")
    )
    assert "Ann &lt;ann@example.org&gt;" in page
    assert "Ann &#60;ann&#64;example.org>" in markdown
    after = kept.place.registry.get("groundedness")
    assert f"The exact text, version {after.version}" in page
    assert after.version in markdown
    (at,) = read_optimization(kept.place, kept.run_id).review_times
    assert all(at[:16].replace("T", " ") in text for text in (page, markdown))


def test_markdown_puts_the_decision_right_behind_what_was_wanted_and_mentions_nobody(
    kept: Kept,
) -> None:
    """Words, reading, the gate's word, then all else; a comment pings nobody and breaks no table or
    fence.
    """
    markdown = (kept.folder / "run.md").read_text(encoding="utf-8")
    head = markdown.splitlines()
    assert head[0].startswith("# Judge `groundedness`: ")
    assert head[2].startswith("Wanted: ")
    assert head[4].startswith("Read as: Raise precision")
    above = [
        line
        for line in head[5 : head.index(next(line for line in head if "Gate:" in line))]
        if line
    ]
    assert all(line.startswith("- ") for line in above)
    assert "**Gate: ACCEPTED.**" in markdown
    assert (
        "see &#64;team and &#35;12 &#124; &#60;b>now&#60;/b> http:&#47;&#47;x.example" in markdown
    )
    fences = re.findall(r"^(`{3,})(\w*)$", markdown, flags=re.MULTILINE)
    assert [name for _, name in fences] == ["diff", "", "sh", ""]
    assert fences[0][0] == "````"  # longer than the one in the prompt
    assert "95 % interval" in markdown
    assert "judgewright optimize groundedness@" in markdown
    assert "SIMULATED" in markdown


def test_the_same_run_gives_the_same_files(kept: Kept, tmp_path: Path) -> None:
    """Byte for byte."""
    for path in export_run(kept.place, kept.run_id, tmp_path / "again", formats=tuple(FORMATS)):
        assert path.read_bytes() == (kept.folder / path.name).read_bytes()


@pytest.fixture(scope="module")
def summary(kept: Kept) -> tuple[RunSummary, BothSides]:
    """What the files are made of."""
    run = read_optimization(kept.place, kept.run_id)
    return run, both_sides(kept.place, run)


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_a_cost_that_is_not_known_is_not_called_nought(
    summary: tuple[RunSummary, BothSides], render: Callable[[RunSummary, BothSides], str]
) -> None:
    """The simulated model is free; one answer without a price leaves the sum unknown."""
    run, rows = summary
    assert ", $0.0000" in render(run, rows)
    text = render(replace(run, calls=replace(run.calls, unpriced=1)), rows)
    assert ", price unknown" in text
    assert "$0.0000" not in text


def test_a_run_without_a_decision_is_not_written(tmp_path: Path) -> None:
    """Nothing to tell yet, and no folder left behind."""
    config = {"prompt": PROMPT.to_yaml(), "model": "simulated", "data": "x", "objective": "f1"}
    with Workspace(tmp_path / "work") as place:
        run = create_run(place.database, "optimize", config)
        with pytest.raises(InputError, match="no decision yet"):
            export_run(place, run, tmp_path / "out", formats=("html",))
    assert not (tmp_path / "out").exists()


def test_a_run_that_found_nothing_can_be_written(tmp_path: Path) -> None:
    """No diff, no evidence and no person's decision; the files still say so."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    asked = {"model": "simulated", "data": str(tmp_path / "rows.jsonl"), "objective": "precision"}
    config = RunConfig(prompt=PROMPT.to_yaml(), steps=0, **asked)
    with Workspace(tmp_path / "work") as place:
        run = start_run(place, config, Environment())
        export_run(place, run.run_id, tmp_path / "out", formats=tuple(FORMATS))
    page, markdown = ((tmp_path / "out" / f"run.{end}").read_text() for end in ("html", "md"))
    assert "There is no new prompt" in page
    assert "There is no new prompt" in markdown
    assert "No person has decided yet" in page


def test_commands_write_and_show(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`runs show`, with `--out` and `--flips`, from the command line."""

    def printed(*words: str) -> str:
        main(["runs", *words, "--workspace", str(kept.place.root)])
        return capsys.readouterr().out

    out = ("--out", str(tmp_path / "o"), "--format", "md", "--json")
    body = json.loads(printed("show", kept.run_id, *out))
    assert [Path(path).name for path in body["paths"]] == ["run.md"]
    every = flips_of(both_sides(kept.place, read_optimization(kept.place, kept.run_id)))
    body = json.loads(printed("show", kept.run_id, "--flips", "--json"))
    counts = (body["right"], body["wrong"], body["n"], body["simulated"])
    assert counts == (every.right, every.wrong, every.n, True)
    assert [flip["row_id"] for flip in body["flips"]] == [flip.row_id for flip in every.rows]
    rows = printed("show", kept.run_id, "--flips")
    assert "SIMULATED" in rows
    assert not set(re.findall(r"canary[a-j]{4}x", rows)) & kept.sealed
    shown = printed("show", kept.run_id)
    assert "{+Compare each number" in shown.replace("{+\n  ", "{+")
    assert "\x1b" not in shown
    assert r"\x1b]52;c;AA\x07" in shown
