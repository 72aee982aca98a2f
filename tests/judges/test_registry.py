"""The registry: shipped judges, registered versions, lineage, and no way out of the folder."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    DecisionRule,
    Isotonic,
    KeptRule,
    Platt,
    PromptError,
    Registry,
    load_prompt,
    read_rule,
)

SHIPPED = Registry().get("groundedness")
CURVE = Isotonic(x=(0.1, 0.30000000000000004, 1.0), y=(1e-05, 0.25, 0.9999999999999999))


def fitted(**changes: object) -> KeptRule:
    """A rule for the shipped groundedness judge."""
    values = {
        "rule": DecisionRule(threshold=1.0, calibration=CURVE),
        "judge": f"{SHIPPED.name}@{SHIPPED.version}",
        "asked_at": SHIPPED.scale.threshold,
        "dataset": "rows/validation",
        "dataset_hash": "ab12",
        "rows": 240,
        "model": "yes: 'm' #1",
        "confidence": "ask",
        "metric": "f1",
        "simulated": True,
    }
    return KeptRule(**{**values, **changes})  # type: ignore[arg-type]


def test_the_rag_triad_ships() -> None:
    """Three judges with a scale of 0..3, a threshold of 2 and a JSON reply that reasons first."""
    registry = Registry()
    triad = ("answer_relevance", "context_relevance", "groundedness")
    assert set(triad) <= set(registry.names())
    for name in triad:
        prompt = registry.get(name)
        assert (prompt.scale.low, prompt.scale.high, prompt.scale.threshold) == (0, 3, 2)
        assert list(prompt.reply_schema.values()) == ["text", "text", "score", "confidence"]
    assert registry.get("groundedness").cases is None
    cases = registry.get("context_relevance").cases
    assert cases is not None
    assert (cases.by, len(cases.bank)) == ("fixed", 3)


OLD_FILE = (
    SHIPPED.to_yaml()
    + """\
examples:
- inputs: {source: s, statement: t}
  reply: '{"criterion": "c", "evidence": "e", "score": 1, "confidence": 0.7}'
"""
)


def test_a_version_of_a_file_with_examples_goes_by_its_old_name_too(tmp_path: Path) -> None:
    """The pointer, a kept rule and a child name it; what is read has the examples as cases, and a
    new name.
    """
    old = load_prompt(OLD_FILE, edited=True)
    home = tmp_path / "groundedness"
    home.mkdir()
    (home / f"{old.former}.yaml").write_text(OLD_FILE.replace(SHIPPED.version, old.former))
    (home / "current").write_text(old.former)
    registry = Registry(tmp_path)
    read = registry.get("groundedness")
    assert read.cases is not None
    assert read.former == old.former
    ways = (old.former[:6], read.version)
    assert {registry.get(f"groundedness@{way}").version for way in ways} == {read.version}
    rule = fitted(judge=f"groundedness@{old.former}")
    (home / f"{old.former}.rule.yaml").write_text(rule.to_yaml())
    assert registry.rule(read) == rule.rule
    child = replace(read, criteria="Be strict.", parent=old.former)
    registry.keep(child)
    assert registry.log("groundedness") == (child, read)
    assert registry.versions("groundedness")[1:] == (read, child)
    strict = read.edited(criteria="Be kind.")
    assert registry.rule(strict) == strict.rule


def test_a_kept_version_becomes_current_and_the_log_leads_back(tmp_path: Path) -> None:
    """After keeping a child, the plain name means it, and its log ends at the shipped prompt."""
    registry = Registry(tmp_path)
    shipped = registry.get("groundedness")
    child = shipped.edited(criteria="Be strict.", note="first")
    grandchild = child.edited(criteria="Be stricter.", note="second")
    registry.keep(grandchild)
    registry.keep(child, current=False)
    assert registry.get("groundedness") == grandchild
    assert registry.get(f"groundedness@{child.version[:5]}") == child
    assert [p.version for p in registry.versions("groundedness")] == [
        shipped.version,
        child.version,
        grandchild.version,
    ]
    assert registry.log("groundedness") == (grandchild, child, shipped)


def test_a_path_is_a_judge_too(tmp_path: Path) -> None:
    """A YAML file outside the registry can be named by its path."""
    path = tmp_path / "mine.yaml"
    path.write_text(Registry().get("groundedness").to_yaml(), encoding="utf-8")
    assert Registry().get(str(path)) == Registry().get("groundedness")


@pytest.mark.parametrize("spec", ["nope", "groundedness@zzzz", "no/such.yaml", "groundedness@"])
def test_an_unknown_judge_is_named_in_the_error(spec: str) -> None:
    """Unknown names, versions and files are refused; an empty version means the current one."""
    if spec.endswith("@"):
        assert Registry().get(spec).name == "groundedness"
    else:
        with pytest.raises(PromptError, match=r"nope|zzzz|no/such"):
            Registry().get(spec)


def test_a_symlinked_folder_is_not_followed_on_writing(tmp_path: Path) -> None:
    """A prompt folder that leads outside the workspace is refused."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "groundedness").symlink_to(tmp_path / "outside")
    registry = Registry(tmp_path / "prompts")
    with pytest.raises(PromptError, match="outside the workspace"):
        registry.keep(Registry().get("groundedness"))
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_rule_stands_beside_its_version_and_is_not_taken_for_a_prompt(tmp_path: Path) -> None:
    """The kept rule decides for that version alone; names and versions are as before."""
    registry = Registry(tmp_path)
    child = SHIPPED.edited(criteria="Be strict.")
    registry.keep(child)
    assert registry.rule(SHIPPED) == SHIPPED.rule
    path = registry.keep_rule(SHIPPED, fitted())
    assert path == tmp_path / "groundedness" / f"{SHIPPED.version}.rule.yaml"
    assert registry.rule(SHIPPED) == fitted().rule
    assert registry.kept_rule(SHIPPED) == fitted()
    assert registry.rule(child) == child.rule
    assert [p.version for p in registry.versions("groundedness")] == [
        SHIPPED.version,
        child.version,
    ]
    assert Registry(tmp_path).get("groundedness") == child


def test_a_rule_that_another_replaces_stays_beside_it(tmp_path: Path) -> None:
    """Under the version of the rule, which decides nothing there; the same rule leaves one file."""
    registry, other = Registry(tmp_path), DecisionRule(threshold=3)
    path = registry.keep_rule(SHIPPED, fitted())
    for _ in range(2):
        registry.keep_rule(SHIPPED, fitted(rule=other))
    assert registry.rule(SHIPPED) == other
    earlier = path.with_name(f"{SHIPPED.version}.{fitted().rule.version}.rule.yaml")
    assert read_rule(earlier) == fitted()
    assert set(path.parent.iterdir()) == {path, earlier}


def test_a_rule_of_a_judge_from_elsewhere_brings_the_prompt_with_it(tmp_path: Path) -> None:
    """So that the rule never stands beside nothing; it does not make that prompt the current
    one.
    """
    mine = replace(SHIPPED, name="mine")
    registry = Registry(tmp_path)
    registry.keep_rule(mine, fitted(judge=f"mine@{mine.version}"))
    assert registry.get("mine") == mine
    assert registry.rule(mine) == fitted().rule


def test_a_folder_with_a_rule_alone_is_no_judge(tmp_path: Path) -> None:
    """A stray rule file makes no name."""
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray" / "abc.rule.yaml").write_text(fitted().to_yaml(), encoding="utf-8")
    assert "stray" not in Registry(tmp_path).names()


RULES = st.builds(
    DecisionRule,
    threshold=st.floats(-1e6, 1e6),
    calibration=st.one_of(
        st.none(),
        st.builds(Platt, slope=st.floats(0, 1e9), intercept=st.floats(-1e9, 1e9)),
        st.lists(st.floats(0, 1), min_size=1, max_size=20, unique=True).map(
            lambda x: Isotonic(x=tuple(sorted(x)), y=tuple(sorted(x)))
        ),
    ),
)


@given(
    rule=RULES, model=st.text(st.characters(codec="utf-8"), max_size=20), rows=st.integers(0, 10**9)
)
def test_a_rule_read_back_is_the_rule(rule: DecisionRule, model: str, rows: int) -> None:
    """Every digit and every name survives the file."""
    kept = fitted(rule=rule, model=model, rows=rows)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.rule.yaml"
        path.write_bytes(kept.to_yaml().encode())
        assert read_rule(path) == kept


def test_a_rule_of_another_version_or_threshold_is_refused(tmp_path: Path) -> None:
    """Neither kept nor used: its calibration is of another judge's confidence."""
    registry = Registry(tmp_path)
    child = SHIPPED.edited(criteria="Be strict.")
    with pytest.raises(PromptError, match=f"fitted for groundedness@{SHIPPED.version}, not for"):
        registry.keep_rule(child, fitted())
    moved = replace(SHIPPED, scale=replace(SHIPPED.scale, threshold=3))
    with pytest.raises(PromptError, match="had the threshold 2, now it has 3"):
        registry.keep_rule(moved, fitted())
    path = registry.keep_rule(SHIPPED, fitted())
    path.rename(path.with_name(f"{child.version}.rule.yaml"))
    with pytest.raises(PromptError, match="not for"):
        registry.rule(child)
    with pytest.raises(PromptError, match="no workspace folder"):
        Registry().keep_rule(SHIPPED, fitted())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("threshold: 1.0", "threshold: 2.0", "its content is"),
        ("threshold: 1.0", "threshold: nan", "not a number"),
        ("threshold: 1.0", "threshold: high", "threshold"),
        ("format: 1", "format: 2", "format"),
        ("method: isotonic", "method: beta", "neither isotonic nor platt"),
        ("y: [1.0e-05", "y: [2.0", "not a calibration"),
        ("rows: 240", "rows: 240, extra: 1", "extra"),
        ("format: 1", "format: [", "cannot read"),
    ],
)
def test_a_spoilt_rule_file_is_named_and_never_used(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """A changed number does not decide about a single row."""
    registry = Registry(tmp_path)
    path = registry.keep_rule(SHIPPED, fitted())
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(PromptError, match=message) as refused:
        registry.rule(SHIPPED)
    assert str(path) in str(refused.value)


def test_what_differs_from_where_a_rule_was_fitted_is_said() -> None:
    """Another model or build, or another kind of confidence under a calibration."""
    kept = fitted(model="m")
    assert list(kept.caveats(model="m", confidence="ask")) == []
    told = list(kept.caveats(model="n", confidence="tok"))
    assert "fitted on m, not on n" in told[0]
    assert "ask confidences, these are tok" in told[1]
    plain = fitted(model="m", rule=DecisionRule(threshold=1))
    assert list(plain.caveats(model="m", confidence="tok")) == []
    built = fitted(model="m", build="m-1")
    assert list(built.caveats(model="m", confidence="ask", build="m-1")) == []
    assert "on m-1, not on m-2" in next(built.caveats(model="m", confidence="ask", build="m-2"))


def test_an_edited_file_is_a_new_version_of_the_one_it_states(tmp_path: Path) -> None:
    """A person edits the YAML and leaves its version line as it is: that names what it was edited
    from.
    """
    path = tmp_path / "mine.yaml"
    path.write_text(
        SHIPPED.to_yaml().replace(SHIPPED.criteria.splitlines()[0], "Be very strict."),
        encoding="utf-8",
    )
    mine = Registry(tmp_path / "judges").get(str(path))
    assert mine.parent == SHIPPED.version != mine.version
    assert "Be very strict." in mine.criteria


def test_a_kept_version_that_was_edited_in_place_is_refused(tmp_path: Path) -> None:
    """The registry's own files are what runs rest on: an edit there would lose the version that the
    file names.
    """
    registry = Registry(tmp_path)
    path = registry.keep(SHIPPED.edited(criteria="Be strict."))
    path.write_text(
        path.read_text(encoding="utf-8").replace("Be strict.", "Be stricter."), encoding="utf-8"
    )
    with pytest.raises(PromptError, match="its content is") as refused:
        registry.get(SHIPPED.name)
    assert "a file of your own" in (refused.value.hint or "")
