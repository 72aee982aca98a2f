"""Labels of versions: what may be one, where it leads, and what a damaged one says."""

from pathlib import Path

import pytest

from judgewright.judges import InputError, PromptError, Registry


def test_a_label_names_one_version_and_moves(tmp_path: Path) -> None:
    """`name@label` is that version; a shipped version that gets a label is kept; plain `name` means
    what it meant.
    """
    registry = Registry(tmp_path)
    first = registry.get("groundedness")
    second = first.edited(criteria="Be strict.")
    registry.keep(second, current=False)
    registry.tag(first, "production", by="Ada")
    assert (tmp_path / "groundedness" / f"{first.version}.yaml").is_file()
    assert registry.get("groundedness@production").version == first.version
    registry.tag(second, "production", by="x: 'y' #\x1b[31m\n- z")
    assert registry.get("groundedness@production").version == second.version
    assert registry.get("groundedness").version == first.version
    (tag,) = registry.tags("groundedness")
    assert (tag.label, tag.version, tag.by) == (
        "production",
        second.version,
        "x: 'y' #\x1b[31m\n- z",
    )
    registry.untag("groundedness", "production")
    assert registry.tags("groundedness") == ()
    with pytest.raises(PromptError, match="no version"):
        registry.get("groundedness@production")
    with pytest.raises(InputError, match="no version"):
        registry.untag("groundedness", "production")


@pytest.mark.parametrize(
    "label", ["current", "dead", "1349", "Production", "../x", "", "a b", "con", "x" * 65]
)
def test_what_could_be_a_version_or_leads_elsewhere_is_no_label(tmp_path: Path, label: str) -> None:
    """Nothing is written for it."""
    registry = Registry(tmp_path)
    with pytest.raises(InputError):
        registry.tag(registry.get("groundedness"), label, by="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "version: ../x\n", "version: 12\nmore: 1\n", "- a\n", "version: [\n", "\x00"]
)
def test_a_damaged_label_is_named(tmp_path: Path, text: str) -> None:
    """With its file; the folder may not be a link either."""
    registry = Registry(tmp_path)
    registry.tag(registry.get("groundedness"), "production", by="")
    path = tmp_path / "groundedness" / "tags" / "production"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PromptError, match="production"):
        registry.tags("groundedness")


def test_a_folder_of_labels_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Else a label would be written somewhere else."""
    registry = Registry(tmp_path / "prompts")
    registry.keep(registry.get("groundedness"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "prompts" / "groundedness" / "tags").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PromptError, match="outside"):
        registry.tag(registry.get("groundedness"), "production", by="")
