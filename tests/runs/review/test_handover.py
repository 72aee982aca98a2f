"""Handing a judge over from the page: what differs is said first, the archive is the export,
nothing leaves unasked.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.runs.actions.export import export_context
from judgewright.runs.actions.run_summary import read_optimization
from judgewright.runs.config import Environment
from judgewright.runs.exports import TARGETS, read_export, write_export
from judgewright.runs.reports.rendering import in_full
from judgewright.runs.review import review_app
from judgewright.runs.store import Workspace

from .conftest import ATTACK, HOSTILE, OURS, PORT, TOKEN, Elements, Made, inert, post, settled

VERSION = Registry().get("groundedness").version
PLACE = f"/judges/groundedness/handover/{VERSION}"
TRULENS = Path(__file__).resolve().parents[3] / ".verify" / "trulens" / "bin" / "python"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace folder, in which nothing was run yet."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Where this user's `tools.yaml` would be."""
    return tmp_path / "config" / "tools.yaml"


def mine(root: Path) -> Environment:
    """The environment of a user whose configuration is a folder of the test."""
    models = root.parent / "config" / "models.yaml"
    return Environment(models=models, variables={**os.environ, "JUDGEWRIGHT_MODELS": str(models)})


@pytest.fixture
def desk(root: Path, tools: Path) -> Iterator[TestClient]:
    """That user, at the page."""
    tools.parent.mkdir()
    app = review_app(root, token=TOKEN, port=PORT, environment=mine(root))
    with TestClient(app, base_url=OURS, follow_redirects=False) as client:
        client.cookies.set(f"judgewright-{PORT}", TOKEN)
        yield client


def unpack(content: bytes, folder: Path) -> Path:
    """Unpack an archive and return the one folder in it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    (only,) = folder.iterdir()
    return only


@pytest.mark.parametrize("target", TARGETS)
def test_what_differs_is_said_before_the_archive_which_is_the_export(
    desk: TestClient, root: Path, tmp_path: Path, target: str
) -> None:
    """Each sentence of the manifest stands above the download; the files are those that the command
    writes.
    """
    page = desk.get(f"{PLACE}/{target}").text
    with Workspace(root) as place:
        context = export_context(place, place.registry.get("groundedness"))
    written = write_export(context, TARGETS[target], tmp_path / "written")
    before = Elements(page.partition(f"{PLACE}/{target}/archive")[0]).text
    assert [line for line in written.body["declared_differences"] if line not in before] == []
    answer = desk.get(f"{PLACE}/{target}/archive")
    assert (
        answer.headers["content-disposition"]
        == f'attachment; filename="groundedness-{VERSION}-{target}.zip"'
    )
    folder = unpack(answer.content, tmp_path / "unpacked")
    assert folder.name == f"groundedness-{VERSION}-{target}"
    assert read_export(folder).body == written.body
    for file in written.folder.iterdir():
        assert (folder / file.name).read_bytes() == file.read_bytes()
    assert len(list(folder.iterdir())) == len(list(written.folder.iterdir()))
    assert desk.get(f"{PLACE}/{target}/archive").content == answer.content


def test_an_export_asks_as_the_run_that_gated_it_asked(made: Made) -> None:
    """Its limit of tokens was the run's own; a judge that no run gated is asked as usual."""
    with Workspace(made.root) as place:
        after = read_optimization(place, made.run_id).after
        assert after is not None
        assert export_context(place, after).request["max_tokens"] == 400
        assert export_context(place, Registry().get("groundedness")).request["max_tokens"] == 512


def test_a_hostile_judge_stays_text_on_every_page_and_in_every_archive(
    desk: TestClient, root: Path, tmp_path: Path
) -> None:
    """Its words are in the files as they are; no page takes them for markup, no file has a name
    from them.
    """
    with Workspace(root) as place:
        first = place.registry.get("groundedness")
        hostile = first.edited(
            criteria=f"{first.criteria}\n{ATTACK}\n<!-- ../../x -->", note=HOSTILE
        )
        place.registry.keep(hostile, current=False)
    place = f"/judges/groundedness/handover/{hostile.version}"
    for target in TARGETS:
        for path in (place, f"{place}/{target}"):
            page = desk.get(path).text
            inert(page)
        if "cannot carry" in page:
            assert desk.get(f"{place}/{target}/archive").status_code == 404
            continue
        with zipfile.ZipFile(io.BytesIO(desk.get(f"{place}/{target}/archive").content)) as archive:
            top = f"groundedness-{hostile.version}-{target}"
            assert all(re.fullmatch(rf"{top}/[A-Za-z0-9_.-]+", name) for name in archive.namelist())
            assert all(entry.external_attr == 0o644 << 16 for entry in archive.infolist())
    unpack(desk.get(f"{place}/python/archive").content, tmp_path / "out")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from judgewright_judge import Judge;"
        " print(Judge(sys.argv[1] + '/judge.json').name)"
    )
    (folder,) = (tmp_path / "out").iterdir()
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "groundedness\n"


@pytest.mark.slow
def test_it_is_verified_as_a_job_which_the_page_tells_of(
    desk: TestClient, root: Path, tmp_path: Path
) -> None:
    """The same twice is one job, nothing is left in the folder; of a copied workspace its jobs are
    not believed.
    """
    status, where = post(desk, f"{PLACE}/python/verify", verb="verify")
    assert status == 303
    assert post(desk, f"{PLACE}/python/verify", verb="verify")[1] == where
    job = settled(root, mine(root))
    assert (where, job.state, job.exit_code) == (f"/jobs/{job.job_id}", "done", 0)
    assert "8 rows rendered" in Elements(desk.get(where).text).text
    assert f'href="{PLACE}/python"' in desk.get(where).text
    assert "8 rows rendered" in Elements(desk.get(f"{PLACE}/python").text).text
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == []
    shutil.copytree(root, tmp_path / "copy")
    app = review_app(tmp_path / "copy", token=TOKEN, port=PORT, environment=mine(root))
    with TestClient(app, base_url=OURS) as visitor:
        visitor.cookies.set(f"judgewright-{PORT}", TOKEN)
        assert "rows rendered" not in Elements(visitor.get(f"{PLACE}/python").text).text


def test_a_tool_that_is_not_installed_is_named_by_the_job(
    desk: TestClient, root: Path, tools: Path
) -> None:
    """Without a line in `tools.yaml` there is no button; with a wrong one the job says what is
    missing.
    """
    assert "Verify it" not in desk.get(f"{PLACE}/mlflow").text
    bare = str(root.parent / "bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    tools.write_text(f"mlflow:\n  with: {bare}/bin/python\n")
    assert "Verify it" in desk.get(f"{PLACE}/mlflow").text
    post(desk, f"{PLACE}/mlflow/verify", verb="verify")
    job = settled(root, mine(root))
    assert (job.state, job.exit_code) == ("failed", 2)
    assert "does not have MLflow" in job.message


def test_it_is_pushed_after_a_second_question_alone_and_no_password_is_shown(
    desk: TestClient, root: Path, tools: Path
) -> None:
    """The question names the registry and the differences; another registry by then is asked about
    again.
    """
    tools.write_text("mlflow: {push: 'http://ada:s3cret@127.0.0.1:9', with: /nowhere/python}\n")
    page = desk.get(f"{PLACE}/mlflow").text
    assert f'href="{PLACE}/mlflow/push"' in page
    question = desk.get(f"{PLACE}/mlflow/push").text
    assert "http://***@127.0.0.1:9" in question
    assert "fixed tags as fences" in question
    for form in ({"to": ""}, {"to": "http://other"}):
        assert post(desk, f"{PLACE}/mlflow/push", **form)[0] == 404
    foreign = desk.post(
        f"{PLACE}/mlflow/push",
        data={"to": "http://***@127.0.0.1:9"},
        headers={"origin": "http://x"},
    )
    assert foreign.status_code == 403
    assert not (root / ".judgewright" / "jobs.db").exists()
    assert post(desk, f"{PLACE}/mlflow/push", to="http://***@127.0.0.1:9")[0] == 303
    job = settled(root, mine(root))
    assert (job.state, job.exit_code) == ("failed", 2)
    kept = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert (
        b"s3cret"
        not in page.encode() + question.encode() + desk.get(f"/jobs/{job.job_id}").content + kept
    )


@pytest.mark.skipif(not TRULENS.exists(), reason="TruLens is not installed: make verify-exports")
def test_a_real_registry_takes_it(
    desk: TestClient, root: Path, tools: Path, tmp_path: Path
) -> None:
    """TruLens writes to a database of its own; the page says what it is called there."""
    tools.write_text(f"trulens: {{with: {TRULENS}, push: 'sqlite:///{tmp_path}/registry.db'}}\n")
    post(desk, f"{PLACE}/trulens/push", to=f"sqlite:///{tmp_path}/registry.db")
    job = settled(root, mine(root))
    assert (job.state, job.exit_code) == ("done", 0), job.message
    assert f"pushed to sqlite:///{tmp_path}/registry.db as prompt_version" in job.message
    assert (tmp_path / "registry.db").stat().st_size > 0
    assert "prompt_version" in Elements(desk.get(f"{PLACE}/trulens").text).text


def test_a_threshold_is_told_with_every_digit_that_it_has() -> None:
    """Two of three grades are below 0.666667: copied so, a rule would say no to them."""
    assert in_full(2 / 3) == "0.6666666666666666"
    assert float(in_full(2 / 3)) <= 2 / 3
    assert [in_full(value) for value in (0.5, 1.0, 3.0, 0.1)] == ["0.5", "1", "3", "0.1"]
