"""Where a judge's large bank of decided cases stands, so that every stored text of it can be
read.
"""

import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import (
    CaseBank,
    Cases,
    JudgePrompt,
    PromptError,
    Registry,
    load_dataset,
    read_prompt,
)
from judgewright.runs.actions import TwoJudges, lineage, read_run, start_run
from judgewright.runs.actions.keep_judge import keep_judge
from judgewright.runs.actions.read_git_prompt import judge_of
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.cli import main
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports.run_export import export_run
from judgewright.runs.store import RunConfig, Workspace, list_runs
from judgewright.runs.store.banks import banks_of, keep_banks
from judgewright.runs.store.sealed_rows import read_open, seal_first, sealed_rows

PLAIN = Registry().get("groundedness")


def with_bank(rows: Path, size: int = 30, prompt: JudgePrompt = PLAIN) -> JudgePrompt:
    """The judge with the first rows of a file as decided cases."""
    dataset = load_dataset(rows, inputs=prompt.inputs, scale=prompt.scale)
    bank = CaseBank.of(dataset.rows[:size], dataset.labels, prompt.inputs)
    return replace(prompt, cases=Cases(bank=bank, count=2))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace's folder with rows of different documents in three files; of `old.jsonl` the
    first ones are a bank.
    """
    write_demo_rows(tmp_path / "all.jsonl", documents=60)
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, part in (("old", lines[:60]), ("gate", lines[60:130]), ("rows", lines[130:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(part), encoding="utf-8")
    return tmp_path


def command(place: Path, *words: str) -> None:
    """Give a command in the folder."""
    with suppress(SystemExit):
        main([*words, "--workspace", str(place)])


def test_every_run_reads_its_judge_with_the_bank(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark, a gate and an optimization, of a judge's file outside the workspace: read in a
    new process, by their rows, as a tree and as an export; also where somebody checked out a branch
    that lacks the folder of banks.
    """
    prompt = with_bank(place / "old.jsonl")
    (place / "elsewhere").mkdir()
    mine = place / "elsewhere" / "mine.yaml"
    prompt.write(mine)
    stricter = replace(prompt.edited(criteria=prompt.criteria + "\nBe strict."), note="stricter")
    stricter.write(place / "elsewhere" / "stricter.yaml")
    rows, simulated = str(place / "rows.jsonl"), ("--model", "simulated")
    command(place, "bench", str(mine), rows, *simulated)
    both = str(mine), str(mine.with_name("stricter.yaml"))
    command(place, "gate", *both, str(place / "gate.jsonl"), *simulated, "--target", "precision")
    with Workspace(place) as workspace:
        config = RunConfig(
            prompt=prompt.to_yaml(),
            banks=banks_of(workspace),
            data=rows,
            model="simulated",
            target="precision",
            steps=1,
            objective="",
        )
        result = start_run(workspace, config, Environment())
    shutil.rmtree(place / "prompts")
    capsys.readouterr()
    with Workspace(place) as workspace:
        bench, gate, optimized = (
            read_run(workspace, one.run_id) for one in list_runs(workspace.database)
        )
        assert len(shown_rows(workspace, bench).judged.dataset) > 30
        assert optimized.before == prompt
        two = TwoJudges.from_json(gate.record.config, banks_of(workspace))
        assert (two.before, two.after) == (prompt, stricter)
        assert [node.version for node in lineage(workspace, prompt.name)][-1] != ""
        assert export_run(workspace, optimized.run_id, place / "out", formats=("md",))
        assert result.run_id == optimized.run_id
        assert prompt.large_bank is not None
        bank = prompt.large_bank.version
        assert workspace.database.read("SELECT version FROM bank") == [(bank,)]
        assert [path.name for path in banks_of(workspace).iterdir()] == [f"{bank}.cases.jsonl"]


def test_a_bank_is_written_before_what_names_it(place: Path) -> None:
    """Where the judge cannot be written, its bank stands there already; and so in the database."""
    prompt = with_bank(place / "old.jsonl")
    (place / "mine.yaml").mkdir()
    with Workspace(place) as workspace, pytest.raises(OSError, match=r"mine\.yaml"):
        keep_judge(workspace, prompt, place / "mine.yaml")
    (bank,) = place.glob("*.cases.jsonl")
    (place / "mine.yaml").rmdir()
    with Workspace(place) as workspace:
        keep_judge(workspace, prompt, place / "mine.yaml")
    assert read_prompt(place / "mine.yaml") == prompt
    bank.unlink()
    with pytest.raises(PromptError, match="there is no file"):
        read_prompt(place / "mine.yaml")


def test_a_hundred_versions_with_one_bank_keep_it_once(place: Path) -> None:
    """In the folder and in the database; each is read back whole."""
    first = with_bank(place / "old.jsonl")
    versions = [first.edited(criteria=f"{first.criteria}\nRule {i}.") for i in range(100)]
    with Workspace(place) as workspace:
        keep_banks(workspace, *versions)
        for prompt in versions:
            workspace.registry.keep(prompt)
        assert len(list((place / "prompts").rglob("*.jsonl"))) == 1
        assert workspace.database.read("SELECT count(*) FROM bank") == [(1,)]
        known = {prompt.version: prompt for prompt in workspace.registry.versions(first.name)}
        assert known == {prompt.version: prompt for prompt in (*versions, PLAIN)}


def test_sealed_rows_are_known_under_other_names(place: Path) -> None:
    """With other ids, groups and spellings, and other rows about the same source; open ones are
    not.
    """
    rows = load_dataset(place / "rows.jsonl", inputs=PLAIN.inputs, scale=PLAIN.scale)
    with Workspace(place) as workspace:
        assert not sealed_rows(workspace, rows).any()
        seal_first(workspace, rows)
        sealed = sealed_rows(workspace, rows)
        read = read_open(workspace, rows)
        assert (sealed == read.left_out).all()
        renamed = [
            replace(row, id=f"x{i}", group="", inputs={**row.inputs, "statement": f"Claim {i}."})
            for i, row in enumerate(rows.rows)
        ]
        assert (sealed_rows(workspace, replace(rows, rows=tuple(renamed))) == sealed).all()


def test_a_judge_of_a_revision_has_the_bank_of_that_revision(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside it or in the registry's folder; also where the branch at hand has it no more."""
    monkeypatch.chdir(place)
    prompt = with_bank(place / "old.jsonl")
    prompt.write(place / "judges" / "mine.yaml", banks=place / "judges")
    prompt.write(place / "mine.yaml")
    Registry(place / "prompts").keep(prompt)
    ours = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*ours, "commit", "-qm", "x")):
        subprocess.run(["git", *words], check=True)
    shutil.rmtree(place / "judges")
    shutil.rmtree(place / "prompts")
    of_registry = f"prompts/{prompt.name}/{prompt.version}.yaml"
    for path in ("mine.yaml", "judges/mine.yaml", of_registry):
        assert judge_of(Registry(), f"git:HEAD:{path}") == prompt
