"""`annotate` from end to end: a small corpus, the simulated model, real files."""

import importlib.util
import json
from pathlib import Path

import pytest

from judgewright.judges import DecisionRule, InputError, KeptRule, Platt, Registry
from judgewright.plugins.rag.commands.annotate import annotate

TOPICS = {
    "peonies": "Cut peonies last a week in a cool vase with fresh water.",
    "bridges": "The stone bridge over the river was built of granite blocks in 1790.",
    "tides": "Spring tides come twice a month, when sun and moon pull in one line.",
    "yeast": "Yeast doughs rise fastest near thirty degrees and stop above forty.",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four queries, and forty passages of which ten on each topic."""
    monkeypatch.chdir(tmp_path)
    queries = [{"id": f"q-{name}", "question": f"what do we know about {name}"} for name in TOPICS]
    passages = [
        {
            "pid": f"{name}-{i}",
            "passage": (
                f"{text if i < 3 else ''} Note {i} mentions {name} in passing, page {i * 7}."
            ),
        }
        for name, text in TOPICS.items()
        for i in range(10)
    ]
    for name, lines in (("queries", queries), ("passages", passages)):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )
    return tmp_path


def run(*options: str, queries: str = "queries.jsonl", corpus: str = "passages.jsonl") -> int:
    """Run the command in this process and return its exit code."""
    asked = ("--judge", "context_relevance", "--model", "simulated", "--out", "out.jsonl")
    arguments = [queries, corpus, *asked, *options]
    try:
        annotate.main(arguments, standalone_mode=False, prog_name="judgewright annotate")
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def lines_of(path: str) -> list[dict[str, object]]:
    """The lines of a JSONL file."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_pairs_are_drawn_judged_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of each query's pairs come from the top k; each line has its chance, score, probability
    and rank.
    """
    assert run("--k", "4", "--per-query", "8", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["queries"], body["documents"], body["pairs"], body["inside"], body["outside"]) == (
        4,
        40,
        32,
        16,
        16,
    )
    assert (body["simulated"], body["calls"], body["n"], body["unscored"]) == (True, 32, 32, {})
    assert 0 < body["recall_of_top_k"]["value"] <= 1
    assert body["recall_of_top_k"]["low"] is not None
    lines = lines_of("out.jsonl")
    assert len({line["id"] for line in lines}) == 32
    for line in lines:
        assert line["inside"] == (line["rank"] <= 4)  # type: ignore[operator]
        assert 0 <= line["probability"] == line["probability_raw"] <= 1  # type: ignore[operator]
        assert set(line["inputs"]) == {"query", "passage"}  # type: ignore[call-overload]
    assert sum(1 / float(line["inclusion"]) for line in lines) == pytest.approx(160)  # type: ignore[arg-type]


def test_the_second_time_nothing_is_asked_and_the_file_is_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stopped run is started again with the same command; only another seed draws pairs that are
    new.
    """
    assert run("--json") == 0
    capsys.readouterr()
    first = Path("out.jsonl").read_bytes()
    assert run("--json") == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 0
    assert Path("out.jsonl").read_bytes() == first
    assert run("--seed", "1", "--json") == 0
    assert 0 < json.loads(capsys.readouterr().out)["calls"] < 40


def test_a_run_that_the_budget_stopped_leaves_with_three_and_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pairs without money are unscored, with null in place of every figure; a further run asks only
    those.
    """
    assert run("--budget", "12000tokens", "--max-tokens", "200", "--json") == 3
    body = json.loads(capsys.readouterr().out)
    assert 0 < body["n"] < 40
    assert body["unscored"] == {"budget": 40 - body["n"]}
    unscored = [line for line in lines_of("out.jsonl") if line["unscored"]]
    assert all(
        line[name] is None for line in unscored for name in ("score", "verdict", "probability")
    )
    assert run("--max-tokens", "200", "--json") == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 40 - body["n"]


def test_people_can_read_what_was_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes and estimates, marked as simulated."""
    assert run() == 0
    out = capsys.readouterr().out
    assert all(
        said in out
        for said in (
            "SIMULATED",
            "recall of the top 5",
        )
    )
    assert "probabilities are raw" in out
    assert "nan" not in out


def test_a_kept_rule_calibrates_and_decides(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The written probability is the calibrated one beside the raw one, and the line names the
    rule.
    """
    registry = Registry(folder / "prompts")
    prompt = registry.get("context_relevance")
    rule = DecisionRule(threshold=3.0, calibration=Platt(slope=0.5, intercept=-1.0))
    kept = KeptRule(
        rule=rule, judge=f"{prompt.name}@{prompt.version}", asked_at=prompt.scale.threshold, dataset="d",  # noqa: E501
        dataset_hash="0" * 32, rows=9, model="other", confidence="ask", metric="f1", simulated=False,  # noqa: E501
    )  # fmt: skip
    registry.keep_rule(prompt, kept)
    assert run("--workspace", str(folder), "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["rule"]["version"] == rule.version
    assert any("fitted on other" in note for note in body["notes"])
    for line in lines_of("out.jsonl"):
        assert line["rule"] == rule.version
        assert line["probability"] == pytest.approx(rule.calibration(line["probability_raw"]))  # type: ignore[misc, arg-type]
        assert line["verdict"] == int(line["score"] >= 3)  # type: ignore[operator]


def test_inputs_are_found_in_either_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns are mapped by name or by --column; ids by line number; repeated texts are left out
    and said so.
    """
    Path("q.csv").write_text("need\ncut peonies\ncut peonies\nspring tides\n", encoding="utf-8")
    assert run("--column", "query=need", "--json", queries="q.csv") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["queries"] == 2
    assert any("repeats an earlier one, left out: 1" in note for note in body["notes"])
    assert lines_of("out.jsonl")[0]["query_id"] == "2"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--column", "query=nope"), "'query' is no column of QUERIES"),
        (("--column", "claim=question"), "has no input 'claim'"),
        (("--judge", "answer_relevance"), "'answer' is no column"),
    ],
)
def test_what_cannot_be_annotated_is_refused_before_anything_is_asked(
    folder: Path, options: tuple[str, ...], said: str
) -> None:
    """With the reason; no database is made and no file written."""
    with pytest.raises(InputError, match=said):
        run(*options)
    assert not Path("out.jsonl").exists()
    assert not Path(".judgewright").exists()


@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed"
)
def test_dense_retrieval_names_its_extra(folder: Path) -> None:
    """Where the embeddings extra is missing."""
    with pytest.raises(InputError, match="sentence_transformers"):
        run("--embedder", "any")
