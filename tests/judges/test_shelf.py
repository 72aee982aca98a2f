"""The shelf: shipped judges, kept versions, lineage, and no way out of the folder."""

from pathlib import Path

import pytest

from judgewright.judges.errors import PromptError
from judgewright.judges.shelf import Shelf


def test_the_rag_triad_ships() -> None:
    """Three judges with a scale of 0..3, a threshold of 2 and a JSON reply that reasons first."""
    shelf = Shelf()
    assert shelf.names() == ("answer_relevance", "context_relevance", "groundedness")
    for name in shelf.names():
        prompt = shelf.get(name)
        assert (prompt.scale.low, prompt.scale.high, prompt.scale.threshold) == (0, 3, 2)
        assert list(prompt.reply_schema.values()) == ["text", "text", "score", "confidence"]
    assert shelf.get("groundedness").examples == ()
    assert len(shelf.get("context_relevance").examples) == 3


def test_a_kept_version_becomes_current_and_the_log_leads_back(tmp_path: Path) -> None:
    """After keeping a child, the plain name means it, and its log ends at the shipped prompt."""
    shelf = Shelf(tmp_path)
    shipped = shelf.get("groundedness")
    child = shipped.edited(criteria="Be strict.", note="first")
    grandchild = child.edited(criteria="Be stricter.", note="second")
    shelf.keep(grandchild)
    shelf.keep(child, current=False)
    assert shelf.get("groundedness") == grandchild
    assert shelf.get(f"groundedness@{child.version[:5]}") == child
    assert [p.version for p in shelf.versions("groundedness")] == [shipped.version, child.version, grandchild.version]
    assert shelf.log("groundedness") == (grandchild, child, shipped)


def test_a_path_is_a_judge_too(tmp_path: Path) -> None:
    """A YAML file outside the shelf can be named by its path."""
    path = tmp_path / "mine.yaml"
    path.write_text(Shelf().get("groundedness").to_yaml(), encoding="utf-8")
    assert Shelf().get(str(path)) == Shelf().get("groundedness")


@pytest.mark.parametrize("spec", ["nope", "groundedness@zzzz", "no/such.yaml", "groundedness@"])
def test_an_unknown_judge_is_named_in_the_error(spec: str) -> None:
    """Unknown names, versions and files are refused; an empty version means the current one."""
    if spec.endswith("@"):
        assert Shelf().get(spec).name == "groundedness"
    else:
        with pytest.raises(PromptError, match=r"nope|zzzz|no/such"):
            Shelf().get(spec)


def test_a_symlinked_folder_is_not_followed_on_writing(tmp_path: Path) -> None:
    """A prompt folder that leads outside the workspace is refused."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "groundedness").symlink_to(tmp_path / "outside")
    shelf = Shelf(tmp_path / "prompts")
    with pytest.raises(PromptError, match="outside the workspace"):
        shelf.keep(Shelf().get("groundedness"))
    assert list((tmp_path / "outside").iterdir()) == []
