"""Tiny releases in their makers' own formats."""

from pathlib import Path

import pytest
import yaml

RELEASES = yaml.safe_load((Path(__file__).parent / "releases.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def releases(tmp_path: Path) -> dict[str, Path]:
    """One tiny release of every source."""
    for name, text in RELEASES["files"].items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {source: tmp_path / name for source, name in RELEASES["paths"].items()}
