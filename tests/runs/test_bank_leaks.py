"""No leak by a decided case: what is sealed is shown nowhere, what stood in a bank is never sealed,
and what stands in a bank is no evidence; whatever rows and groups are called.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Case,
    CaseBank,
    Cases,
    Client,
    Dataset,
    JudgePrompt,
    Registry,
    Row,
    load_dataset,
    split_dataset,
)
from judgewright.judges.plain_cases import CASE_FENCE, ROW_HEADING
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.judges.splits import SEALED
from judgewright.optimize import (
    HumanEdit,
    RunSettings,
    Services,
    optimize,
    read_objective,
)
from judgewright.optimize.events import Remeasured, read_as
from judgewright.optimize.holdout.bank_rows import without_banked
from judgewright.optimize.holdout.ledger import split_with_memory
from judgewright.optimize.holdout.row_fingerprints import open_to_hash
from judgewright.optimize.holdout.sides import known_sides
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports.sentences import describe_final
from judgewright.runs.store import HoldoutLedger, Workspace
from judgewright.runs.store.banks import hide_sealed, keep_banks
from judgewright.runs.store.sealed_rows import read_open, seal_first

from ..optimize.in_memory import MemoryJournal, MemoryLedger
from .run_command import run_code

PLAIN = Registry().get("groundedness")
WORDS = [
    f"{a}{b}{c}"
    for a in ("bra", "kel", "mo", "tir", "zu")
    for b in ("n", "lst", "ff")
    for c in ("ad", "er", "ol", "umy")
]


@dataclass(frozen=True)
class File:
    """Labelled rows about sources of some length, each statement with a word of its own."""

    seed: int
    groups: int
    words: int
    named: bool
    """Whether a column names the groups."""

    def rows(self) -> list[Row]:
        """Two or three statements about each source."""
        random = Random(self.seed)
        rows: list[Row] = []
        for group in range(self.groups):
            source = " ".join(random.choices(WORDS, k=self.words)).capitalize() + "."
            for _ in range(random.randint(2, 3)):
                own = f"canary{self.seed}x{len(rows)}"
                statement = " ".join([own, *random.choices(WORDS, k=random.randint(6, 12))])
                row = Row(
                    id=f"r{len(rows)}",
                    inputs={"source": source, "statement": statement},
                    label=float(random.randint(0, 1)),
                    group=f"d{group}" if self.named else source,
                )
                rows.append(row)
        return rows


FILES = st.builds(
    File,
    seed=st.integers(0, 10**6),
    groups=st.integers(24, 36),
    words=st.integers(8, 90),
    named=st.booleans(),
)


def dataset(rows: list[Row]) -> Dataset:
    """Rows as a file has them."""
    return Dataset.of(rows, labels=BINARY, name="rows")


def copied(row: Row, way: str, number: int, random: Random) -> Case:
    """A row as it stands in a bank of another file: under other names, in another spelling, edited
    by a word, or as another statement about the same source.
    """
    inputs = dict(row.inputs)
    if way == "respelled":
        inputs = {name: f"  {text.upper()} " for name, text in inputs.items()}
    elif way == "edited":
        words = inputs["source"].split()
        words[random.randrange(len(words))] = "edited"
        inputs["source"] = " ".join(words)
    elif way == "another statement":
        inputs["statement"] = " ".join(random.choices(WORDS, k=8))
    kept = {"id": row.id, "group": row.group} if way == "same" else {"id": f"other{number}"}
    return Case(inputs=inputs, label=int(row.label or 0), **kept)


WAYS = ("same", "renamed", "respelled", "edited", "another statement")


def with_bank(cases: list[Case]) -> JudgePrompt:
    """A judge that shows every case that it may."""
    bank = CaseBank(cases=tuple(cases), labels=BINARY)
    return replace(PLAIN, cases=Cases(bank=bank, count=len(cases), balanced=False))


def foreign_bank(
    file: File, rows: list[Row], ways: list[str]
) -> tuple[JudgePrompt, list[Row | None]]:
    """A judge with a bank of copies of some rows and of rows that stand nowhere else; and of which
    row each case is.
    """
    random = Random(file.seed + 1)
    origins = random.sample(rows, min(len(rows), 20))
    cases = [copied(row, ways[n % len(ways)], n, random) for n, row in enumerate(origins)]
    others = replace(file, seed=file.seed + 10**7, groups=3, named=False).rows()
    cases += [copied(row, "renamed", 100 + n, random) for n, row in enumerate(others)]
    return with_bank(cases), [*origins, *(None for _ in others)]


@contextmanager
def workspace() -> Iterator[Workspace]:
    """A new one."""
    with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as place:
        yield place


def ways_of(file: File) -> st.SearchStrategy[list[str]]:
    """An edited word in a short source is not told from another source."""
    ways = WAYS if file.words >= 40 else tuple(way for way in WAYS if way != "edited")
    return st.lists(st.sampled_from(ways), min_size=1, max_size=3)


CASES = FILES.flatmap(lambda file: st.tuples(st.just(file), ways_of(file)))
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(drawn=CASES)
def test_a_sealed_row_is_shown_before_no_row(drawn: tuple[File, list[str]]) -> None:
    """Of a bank from elsewhere only what has nothing of a sealed row is shown, and the rest is."""
    file, ways = drawn
    rows = file.rows()
    with workspace() as place:
        seal_first(place, dataset(rows))
        left_out = read_open(place, dataset(rows)).left_out
        sealed = {row.group for row, out in zip(rows, left_out, strict=True) if out}
        prompt, origins = foreign_bank(file, rows, ways)
        assert prompt.cases is not None
        measured = hide_sealed(place, prompt)
        assert measured.version == prompt.version
        hidden = {*measured.hidden_cases}
        for case, origin in zip(prompt.cases.bank.cases, origins, strict=True):
            assert (case.key in hidden) == (origin is not None and origin.group in sealed)
        keep_banks(place, prompt)
        assert (read_open(place, dataset(rows)).left_out == left_out).all(), "sealed as before"
        for row in rows[:5]:
            shown = measured.shown_cases.text(row)
            for other in rows:
                assert other.group not in sealed or other.inputs["statement"] not in shown


@SLOW
@given(drawn=CASES)
def test_what_stood_in_a_bank_is_never_sealed(drawn: tuple[File, list[str]]) -> None:
    """Whether the file is split by a run, grows first, or is sealed whole."""
    file, ways = drawn
    rows = file.rows()
    with workspace() as place:
        prompt, origins = foreign_bank(file, rows, ways)
        keep_banks(place, prompt)
        groups = {origin.group for origin in origins if origin is not None}
        history = HoldoutLedger(place.database).history()
        parts = split_with_memory(
            history, None, dataset(rows), (30, 20, 30, 20), allow_opened=False
        )
        open_groups = {row.group for part in (parts.train, parts.validation) for row in part.rows}
        assert groups <= open_groups
        count = f"{len(groups)} group{'s have' * (len(groups) > 1) or ' has'} stood in a bank"
        assert any(note.startswith(count) for note in parts.notes)
        for name, sides in known_sides(history.memories, dataset(rows)).items():
            assert not sides & SEALED, name


@SLOW
@given(drawn=CASES)
def test_what_stands_in_a_bank_is_no_evidence(drawn: tuple[File, list[str]]) -> None:
    """Its whole group leaves, and nothing else."""
    file, ways = drawn
    rows = file.rows()
    prompt, origins = foreign_bank(file, rows, ways)
    groups = {origin.group for origin in origins if origin is not None}
    evidence = without_banked(dataset(rows), (PLAIN, prompt))
    assert [row for row in rows if row.group not in groups] == [*evidence.rows.rows]
    out = sum(row.group in groups for row in rows)
    assert evidence.note.startswith(f"{out} rows in {len(groups)} groups do not count")


@SLOW
@given(drawn=CASES)
def test_no_case_of_a_rows_own_group_stands_before_it(drawn: tuple[File, list[str]]) -> None:
    """Where names in the bank are others, its texts tell; and all else is shown."""
    file, ways = drawn
    rows = file.rows()
    prompt, origins = foreign_bank(file, rows, ways)
    for row in rows:
        numbers = {*prompt.shown_cases.choose(row)}
        for number, origin in enumerate(origins):
            assert (number in numbers) == (origin is None or origin.group != row.group)


@contextmanager
def recording() -> Iterator[tuple[str, list[str]]]:
    """A model's server; yield its name for commands, and the requests that it is sent."""
    app, sent = make_app(Simulated()), list[str]()

    async def record(scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            message = await receive()
            sent.append(message.get("body", b"").decode())
            return message

        await app(scope, received if scope["type"] == "http" else receive, send)

    with Server(record) as server:  # type: ignore[arg-type]  # an ASGI app as well
        yield f"simulated@{server.base_url}", sent


def test_canaries_of_sealed_rows_come_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither into a bank made here, nor before a row that is judged over HTTP, nor to who writes
    prompts, nor into an export; of a bank from elsewhere the number is said.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = File(seed=5, groups=60, words=30, named=True).rows()
    lines = [{**row.inputs, "id": row.id, "label": row.label, "group": row.group} for row in rows]
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_code("bench", "groundedness", "rows.jsonl", "--seal", "--model", "simulated") == 0
    with Workspace(tmp_path) as place:
        out = read_open(place, dataset(rows)).left_out
    canaries = {row.inputs["statement"].split()[0] for row, o in zip(rows, out, strict=True) if o}
    assert len(canaries) > 40

    def clean(text: str) -> bool:
        return not any(f"{canary} " in text for canary in canaries)

    capsys.readouterr()
    assert run_code("judges", "cases", "groundedness", "rows.jsonl", "--json") == 0
    made = f"groundedness@{json.loads(capsys.readouterr().out)['version']}"
    (bank,) = Path("prompts/banks").iterdir()
    assert len(bank.read_text().splitlines()) > 40
    prompt, _ = foreign_bank(File(seed=5, groups=60, words=30, named=True), rows, ["renamed"])
    prompt.write(Path("foreign.yaml"))
    prompt.edited(criteria=f"{prompt.criteria} Be strict.", note="").write(Path("strict.yaml"))
    with recording() as (model, sent):
        capsys.readouterr()
        assert run_code("bench", "foreign.yaml", "rows.jsonl", "--model", model) == 0
        said = capsys.readouterr().out
        assert "decided cases of groundedness" in said
        assert "are not shown: they, their groups or near-duplicates are sealed here" in said
        goal = (
            "--objective",
            "precision",
            "--gate-anyway",
            "--steps",
            "2",
            "--proposer",
            "rewrite",
        )
        code = run_code("optimize", made, "rows.jsonl", *goal, "--yes", "--model", model)
        assert code in (0, 1)
        assert run_code("runs", "show", "latest", "--out", "out") == 0
        assert any(ROW_HEADING in text for text in sent)
        for text in sent:
            assert clean(text.partition(ROW_HEADING)[0] if CASE_FENCE in text else text)
    assert run_code("export", made, "--to", "python", "--out", "exported") == 0
    for path in (bank, *Path("out").iterdir(), *Path("exported").iterdir()):
        assert clean(path.read_text()), path


def test_a_gate_drops_banked_rows_and_stays_shut_where_few_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file, and of the holdout that an optimization has sealed; a look is spent only where the
    gate opens, and the rows are told under their number.
    """
    monkeypatch.chdir(tmp_path)
    file = File(seed=6, groups=70, words=30, named=True)
    rows, random = file.rows(), Random(3)
    lines = [{**row.inputs, "id": row.id, "label": row.label, "group": row.group} for row in rows]
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, some in (("few", rows[:12]), ("all", rows)):
        judge = with_bank([copied(row, "renamed", i, random) for i, row in enumerate(some)])
        assert judge.cases is not None
        judge = replace(judge, cases=replace(judge.cases, count=2))
        judge.write(Path(f"{name}.yaml"))
        judge.edited(criteria=f"{judge.criteria} Be strict.", note="").write(Path(f"{name}2.yaml"))

    def said(*words: str, code: int = 1) -> dict[str, Any]:
        capsys.readouterr()
        assert run_code(*words, "--model", "simulated", "--json") == code
        return json.loads(capsys.readouterr().out)

    goal = ("--target", "precision")
    body = said("gate", "few.yaml", "few2.yaml", "rows.jsonl", *goal)
    dropped = len({row.group for row in rows[:12]})
    assert body["groups"] == 70 - dropped
    assert f"in {dropped} groups do not count for either judge" in " ".join(body["notes"])
    assert body["decision"]["look"] == 1
    shut = said("gate", "all.yaml", "all2.yaml", "rows.jsonl", *goal)
    assert shut["decision"].keys() == {"accepted", "outcome", "reason"}
    assert shut["decision"]["outcome"] == "undecided"
    assert "only 0 groups of the holdout left, fewer than 20" in shut["decision"]["reason"]
    with Workspace(tmp_path / "other") as place:
        seal_first(place, dataset(rows))
    search = ("--objective", "precision", "--steps", "2", "--proposer", "rewrite", "--gate-anyway")
    end = said("optimize", "all.yaml", "rows.jsonl", *search, "--workspace", "other")["decision"]
    assert "the holdout stays sealed" in end["reason"]
    with Workspace(tmp_path / "other") as place:
        assert not HoldoutLedger(place.database).history().records


def test_a_banked_final_row_is_in_no_figure_to_report(tmp_path: Path) -> None:
    """After an accept the final rows whose groups stand in a bank leave the last table, with their
    number.
    """
    write_demo_rows(tmp_path / "rows.jsonl", documents=240)
    rows = load_dataset(tmp_path / "rows.jsonl", inputs=PLAIN.inputs, scale=BINARY)
    final = split_dataset(rows).final
    banked = sorted({row.group for row in open_to_hash(final).rows})[:5]
    some = [row for row in open_to_hash(final).rows if row.group in banked]
    prompt = with_bank([copied(row, "renamed", i, Random(1)) for i, row in enumerate(some)])
    assert prompt.cases is not None
    prompt = replace(prompt, cases=replace(prompt.cases, count=1))
    rule = "Check each number, date and name; a wrong number means no support."
    strict = prompt.edited(criteria=f"{prompt.criteria}\n{rule}")
    journal = MemoryJournal()
    with Client(Simulated()) as client:
        tools = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(HumanEdit(edit=strict),),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        goal = read_objective("", judge=prompt, target="precision", guards=("recall:-0.30",))
        outcome = optimize(prompt, rows, goal, tools, RunSettings(steps=1, gate_anyway=True))
    assert outcome.decision is not None
    assert outcome.decision.accepted
    closing = next(event.payload for event in journal.events() if event.kind == "everything")
    left = without_banked(open_to_hash(final), (prompt,))
    assert closing["before"]["final"]["n"] == len(left.rows) <= len(final) - len(some)
    assert closing["final_note"] == left.note
    assert describe_final(read_as(Remeasured, closing))[0] == left.note
