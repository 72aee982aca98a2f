"""Data sets by name: the hub's loader on a local folder, and what is said without the extra."""

import importlib.util
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.judges.datasets import fetched, open_source


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is not None, reason="the extra `hub` is installed"
)
def test_without_datasets_the_extra_is_named() -> None:
    """The hint says what to install and what works without."""
    with pytest.raises(InputError, match="datasets") as caught, fetched("owner/name"):
        pass
    assert "judgewright[hub]" in (caught.value.hint or "")


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the extra `hub` is not installed"
)
@pytest.mark.filterwarnings("ignore")  # of the library's own
def test_what_the_hubs_loader_gives_is_read_like_the_release(
    releases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local folder goes the way of a name, without a network; several splits must be told
    apart.
    """
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "aggrefact"
    folder.mkdir()
    for part in ("dev", "test"):
        (folder / f"{part}.csv").write_text(releases["llm_aggrefact"].read_text())
    with fetched(str(folder), split="test") as path:
        rows = list(open_source("llm_aggrefact", path).rows)
    assert [row["label"] for row in rows] == [1, 0, 1]
    assert rows[0]["id"] == "aggrefact-test-1"
    assert not path.exists()
    with pytest.raises(InputError, match="several splits") as caught, fetched(str(folder)):
        pass
    assert "--hub-split" in (caught.value.hint or "")
    with pytest.raises(InputError, match="cannot be loaded"), fetched(str(folder), split="gold"):
        pass
