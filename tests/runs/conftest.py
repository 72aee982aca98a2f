"""What every test of this room starts from: an environment without keys and without anybody's
`models.yaml`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.runs.store import Workspace

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "JUDGEWRIGHT_API_KEY", "JUDGEWRIGHT_BASE_URL")


@pytest.fixture(scope="session", autouse=True)
def no_keys_of_mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whoever runs the tests may have keys and addresses of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path_factory.mktemp("nobody") / "models.yaml"))
        yield


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with Workspace(tmp_path / "work") as workspace:
        yield workspace
