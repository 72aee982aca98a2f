"""Over real HTTP: no host sees the key of another, and nobody is asked whom the user did not
name.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.runs.cli import main
from judgewright.runs.config import read_environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review import review_app
from judgewright.runs.store import JobQueue, Workspace, list_runs
from judgewright.runs.store.journal import _link

from .providers import Provider, serving

NO_KEY = ({""}, {"Bearer none"})
"""The headers of requests without a key: none, or a word of the SDK's, which cannot leave it out.
"""
KEY_A, KEY_B, KEY_X = (
    "sk-test-CANARY-aaaa1111",
    "sk-test-CANARY-bbbb2222",
    "sk-test-CANARY-xxxx3333",
)
PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(
    criteria=(
        f"Read calmly.\n{PROMPT.criteria}\nCheck every name and entity; one that does not appear in"
        " the source means a low grade.\nCompare each number with the source, and grade low if it"
        " does not appear there."
    )
)
OBJECTIVE = (
    "--objective",
    "Precision matters most: do not call unsupported statements grounded.",
    "--target",
    "precision",
)
TOKEN, PORT = "t0ken", 8399
OURS = f"http://127.0.0.1:{PORT}"


@dataclass
class Place:
    """A folder with rows, an edit and a workspace, and a user with a configuration folder."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.folder / "work"

    @property
    def own_file(self) -> Path:
        """The user's `models.yaml`."""
        return self.folder / "config" / "judgewright" / "models.yaml"

    def bind(self, **lines: tuple[str, str | None]) -> None:
        """Write the user's file: a name, an address and the variable of its key."""
        self.own_file.parent.mkdir(parents=True, exist_ok=True)
        body = {
            n: {"base_url": url} | ({"key_variable": key} if key else {})
            for n, (url, key) in lines.items()
        }
        self.own_file.write_text(json.dumps(body))  # JSON is YAML

    def run(self, *arguments: str) -> int:
        """Run a command as the user, and return its exit code."""
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("JUDGEWRIGHT_MODELS", raising=False)
            patch.setenv("XDG_CONFIG_HOME", str(self.folder / "config"))
            for name, value in self.variables.items():
                patch.setenv(name, value)
            try:
                main([*arguments, "--workspace", str(self.work)])
            except SystemExit as left:
                return int(left.code or 0)
            return 0

    def optimize(self, judge: str, *more: str, steps: int = 1) -> int:
        """Try the edit."""
        edit = ("--proposer", "human", "--edit", str(self.folder / "edit.yaml"))
        words = ("optimize", "groundedness", str(self.folder / "rows.jsonl"), *OBJECTIVE, *edit)
        return self.run(*words, "--steps", str(steps), "--model", judge, *more)

    def last_run(self) -> str:
        """The id of the newest run."""
        with Workspace(self.work) as place:
            return list_runs(place.database)[-1].run_id

    def last_state(self) -> str:
        """How the newest run stands."""
        with Workspace(self.work) as place:
            return list_runs(place.database)[-1].state

    def post(self, path: str, form: dict[str, str]) -> str:
        """Send a form of the page as the user, and return what the page says once its work is
        done.
        """
        variables = {"XDG_CONFIG_HOME": str(self.folder / "config"), **self.variables}
        app = review_app(self.work, token=TOKEN, port=PORT, environment=read_environment(variables))
        with TestClient(app, base_url=OURS, cookies={f"judgewright-{PORT}": TOKEN}) as visitor:
            answer = visitor.post(
                path, data=form, headers={"origin": OURS, "sec-fetch-site": "same-origin"}
            )
            job = answer.url.params.get("job") or answer.url.path.removeprefix("/jobs/")
            queue = JobQueue(self.work, read_environment(variables).jobs_key)
            while queue.waiting():
                time.sleep(0.1)
            return visitor.get(f"/jobs/{job}").text


def new_place(folder: Path, *, documents: int) -> Place:
    """Make rows and an edit."""
    write_demo_rows(folder / "rows.jsonl", documents=documents)
    (folder / "edit.yaml").write_text(EDIT.to_yaml(), encoding="utf-8")
    return Place(folder)


@dataclass
class Walked:
    """A workspace in which every command that asks was run once, with two providers and two
    keys.
    """

    place: Place
    run: str
    judge: Provider
    writer: Provider
    seen: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    """By command: the headers that the judge's host and the writer's saw."""

    def note(self, step: str) -> None:
        """Keep what was seen since the last step."""
        self.seen[step] = set(self.judge.seen), set(self.writer.seen)
        self.judge.seen.clear()
        self.writer.seen.clear()

    def copied(self, folder: Path) -> Place:
        """Return the same user in front of a copy of the workspace."""
        shutil.copytree(self.place.folder, folder, dirs_exist_ok=True)
        return Place(folder, dict(self.place.variables))


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    """Run them; the page and the commands that take addresses out of the workspace among them."""
    place = new_place(tmp_path_factory.mktemp("walked"), documents=120)
    place.variables = {
        "KEY_OF_A": KEY_A,
        "KEY_OF_B": KEY_B,
        "OPENAI_API_KEY": KEY_X,
        "JUDGEWRIGHT_API_KEY": KEY_X,
    }
    rows, edit = str(place.folder / "rows.jsonl"), str(place.folder / "edit.yaml")
    with serving() as one, serving() as other:
        place.bind(a=(one.url, "KEY_OF_A"), b=(other.url, "KEY_OF_B"))
        judge, writer = f"judge@{one.url}", f"writer@{other.url}"
        done = Walked(place, "", one, other)
        assert place.run("bench", "groundedness", rows, "--model", judge, "--limit", "20") == 0
        done.note("bench")
        assert place.optimize(judge, "--optimizer-model", writer, "--budget", "250000tokens") == 3
        done.note("optimize")
        done.run = place.last_run()
        assert place.run("runs", "resume", done.run, "--budget", "90000000tokens") == 0
        done.note("resume")
        assert place.run("gate", edit, "--again", "--model", f"third@{other.url}") in (0, 1)
        done.note("gate again")
        assert place.run("accept", done.run, "--hunks", "1,2") in (0, 1)
        done.note("accept")
        place.post(f"/runs/{done.run}/decide", {"verb": "accept", "hunk": "2"})
        done.note("page accept")
        place.post(
            f"/runs/{done.run}/edit", {"criteria": "Is it supported? Be strict about every number."}
        )
        done.note("page edit")
        two = ("gate", "groundedness", edit, rows, "--target", "f1", "--model", judge)
        fresh = ("--allow-opened", "--max-tokens", "511", "--limit", "20")
        assert place.run(*two, *fresh) in (0, 1)
        done.note("gate")
        yield done


@pytest.fixture
def stranger() -> Iterator[Provider]:
    """A host that nobody but a workspace names."""
    with serving() as host:
        yield host


@pytest.mark.parametrize(
    "step",
    ["bench", "optimize", "resume", "gate again", "accept", "page accept", "page edit", "gate"],
)
def test_no_host_sees_the_key_of_another(walked: Walked, step: str) -> None:
    """Each host sees its own key in every request, and nothing else; other keys of the user go
    nowhere.
    """
    at_judge, at_writer = walked.seen[step]
    assert at_judge <= {f"Bearer {KEY_A}"}
    assert at_writer <= {f"Bearer {KEY_B}"}
    assert at_judge if step != "gate again" else at_writer
    assert at_writer or step != "optimize"


# Addresses out of a workspace.


def edited(place: Place, old: str, new: str) -> None:
    """Write another address into every text of the database, and chain the events anew as a forger
    would.
    """
    with sqlite3.connect(place.work / ".judgewright" / "judgewright.db") as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        changed = 0
        for table in tables:
            for _, column, kind, *_ in database.execute(f"PRAGMA table_info({table})").fetchall():
                if kind in ("TEXT", "BLOB"):
                    turned = f'CAST(replace(CAST("{column}" AS TEXT), ?, ?) AS {kind})'
                    found = f'instr(CAST("{column}" AS TEXT), ?) > 0'
                    changed += database.execute(
                        f'UPDATE {table} SET "{column}" = {turned} WHERE {found}', (old, new, old)
                    ).rowcount
        assert changed > 0
        for (run_id,) in database.execute("SELECT run_id FROM run").fetchall():
            head = hashlib.blake2b(run_id.encode(), digest_size=32).digest()
            query = (
                "SELECT seq, kind, payload_json, created FROM event WHERE run_id = ? ORDER BY seq"
            )
            for seq, kind, payload, created in database.execute(query, (run_id,)).fetchall():
                head = _link(head, seq, kind, payload, created)
                database.execute(
                    "UPDATE event SET hash = ? WHERE run_id = ? AND seq = ?", (head, run_id, seq)
                )


@pytest.mark.parametrize("whose", ["judge", "writer"])
def test_a_database_edited_to_another_host_is_refused_before_anything_is_sent(
    walked: Walked,
    stranger: Provider,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    whose: str,
) -> None:
    """By every command and form that takes an address out of it, with the line that would allow
    it.
    """
    place = walked.copied(tmp_path)
    edited(place, getattr(walked, whose).url, stranger.url)
    with Workspace(place.work) as work:
        states = [(info.run_id, info.state) for info in list_runs(work.database)]
    assert place.run("runs", "resume", walked.run) == 2
    assert f"--allow-origin {stranger.origin}" in capsys.readouterr().err
    told = place.post(f"/runs/{walked.run}/edit", {"criteria": "Is it supported? Another edit."})
    assert "nothing was sent" in told
    assert stranger.origin in told
    if whose == "judge":
        assert place.run("accept", walked.run, "--hunks", "1,3") == 2
        assert "nothing was sent" in capsys.readouterr().err
        assert "nothing was sent" in place.post(
            f"/runs/{walked.run}/decide", {"verb": "accept", "hunk": "3"}
        )
    assert stranger.seen == []
    with Workspace(place.work) as work:
        assert [(info.run_id, info.state) for info in list_runs(work.database)] == states


def test_the_line_of_the_refusal_allows_the_address_and_no_key_goes_along(
    walked: Walked, stranger: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pasted into the user's file; or as an option of the one command."""
    place = walked.copied(tmp_path)
    del place.variables["JUDGEWRIGHT_API_KEY"]
    edited(place, walked.judge.url, stranger.url)
    assert place.run("runs", "resume", walked.run) == 2
    hint = capsys.readouterr().err
    (line,) = re.findall(r"^ +(\S+: \{base_url: .*\})$", hint, re.M)
    (option,) = re.findall(r"--allow-origin \S+?(?=,)", hint)
    place.run("accept", walked.run, "--hunks", "1,3", *option.split())
    assert set(stranger.seen) in NO_KEY
    stranger.seen.clear()
    before = place.own_file.read_text()
    place.own_file.write_text(before.replace("}}", "},\n").rstrip() + f"\n{line}}}")
    place.run("accept", walked.run, "--hunks", "2,3")
    assert set(stranger.seen) in NO_KEY


def test_a_workspace_that_brings_a_models_file_of_its_own_binds_nothing(
    walked: Walked, stranger: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its line would send one's key to its host: what it says of an address counts for nothing, and
    is an error.
    """
    place = walked.copied(tmp_path)
    edited(place, walked.judge.url, stranger.url)
    theirs = f'x: {{base_url: "{stranger.url}", key_variable: KEY_OF_A}}\n'
    (place.work / "models.yaml").write_text(theirs)
    assert place.run("runs", "resume", walked.run) == 2
    assert "nothing was sent" in capsys.readouterr().err
    assert place.run("bench", "groundedness", str(place.folder / "rows.jsonl"), "--model", "x") == 2
    err = capsys.readouterr().err
    assert (
        f"{place.work / 'models.yaml'}, line 1, x.base_url: a file in a workspace does not say"
        " where" in err
    )
    assert stranger.seen == []


CLAUDE = "litellm/anthropic/claude-sonnet-4-5"


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["judge", "writer"])
def test_a_database_edited_to_a_provider_is_refused_before_anything_is_sent(
    walked: Walked,
    stranger: Provider,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    whose: str,
) -> None:
    """A key in ANTHROPIC_API_KEY may be there for other programs: it names nobody whom a run of a
    workspace may ask.
    """
    pytest.importorskip("judgewright.plugins.litellm")
    place = walked.copied(tmp_path)
    # Whoever is asked in spite of it is asked through this host.
    place.variables |= {
        "ANTHROPIC_API_KEY": KEY_X,
        "HTTPS_PROXY": stranger.origin,
        "https_proxy": stranger.origin,
    }
    edited(place, f"{whose}@{getattr(walked, whose).url}", CLAUDE)
    for server in (walked.judge, walked.writer):
        server.seen.clear()
    assert place.run("runs", "resume", walked.run) == 2
    told = capsys.readouterr().err
    assert "https://api.anthropic.com, an address out of the workspace" in told
    assert "--allow-origin https://api.anthropic.com" in told
    assert "key_variable: ANTHROPIC_API_KEY" in told
    assert "nothing was sent" in place.post(
        f"/runs/{walked.run}/edit", {"criteria": "Is it supported? Another edit."}
    )
    if whose == "judge":
        assert place.run("accept", walked.run, "--hunks", "1,3") == 2
        assert "nothing was sent" in place.post(
            f"/runs/{walked.run}/decide", {"verb": "accept", "hunk": "3"}
        )
    assert (stranger.seen, walked.judge.seen, walked.writer.seen) == ([], [], [])


@pytest.mark.parametrize("name", ["JUDGEWRIGHT_MODELS", "XDG_CONFIG_HOME"])
def test_the_users_file_is_never_looked_for_in_the_working_folder(
    walked: Walked, stranger: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A relative path would take whatever lies in the workspace one stands in."""
    place = walked.copied(tmp_path)
    edited(place, walked.judge.url, stranger.url)
    theirs = place.work / "judgewright" / "models.yaml"
    theirs.parent.mkdir()
    theirs.write_text(f'x: {{base_url: "{stranger.url}", key_variable: KEY_OF_A}}\n')
    monkeypatch.chdir(place.work)
    place.variables[name] = {
        "JUDGEWRIGHT_MODELS": "judgewright/models.yaml",
        "XDG_CONFIG_HOME": ".",
    }[name]
    assert place.run("runs", "resume", walked.run) == 2
    assert stranger.seen == []


# The command names an address.


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A user without configuration in front of a few rows."""
    return new_place(tmp_path, documents=10)


def bench(place: Place, model: str) -> int:
    """Ask about some rows."""
    return place.run(
        "bench", "groundedness", str(place.folder / "rows.jsonl"), "--model", model, "--limit", "12"
    )


WHERE = "{the stranger}"
"""In a table: the address of the host that is asked."""


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        # The quick path; a key of OpenAI stays at home.
        ({"JUDGEWRIGHT_API_KEY": KEY_A, "OPENAI_API_KEY": KEY_X}, KEY_A),
        # A port of this machine may be anybody's.
        ({"OPENAI_API_KEY": KEY_X}, None),
        (
            {"OPENAI_BASE_URL": WHERE, "OPENAI_API_KEY": KEY_A, "JUDGEWRIGHT_API_KEY": KEY_X},
            KEY_A,
        ),
        # JUDGEWRIGHT_BASE_URL says whose JUDGEWRIGHT_API_KEY is.
        (
            {"JUDGEWRIGHT_API_KEY": KEY_X, "JUDGEWRIGHT_BASE_URL": "https://api.acme.example/v1"},
            None,
        ),
        ({"JUDGEWRIGHT_API_KEY": KEY_X, "JUDGEWRIGHT_BASE_URL": WHERE}, KEY_X),
    ],
)
def test_the_address_of_a_command_gets_the_key_that_is_bound_to_it(
    place: Place, stranger: Provider, variables: dict[str, str], sent: str | None
) -> None:
    """And no other; OpenAI's base URL also by a plain name."""
    place.variables = {n: stranger.url if v == WHERE else v for n, v in variables.items()}
    assert bench(place, f"m@{stranger.url}") == 0
    if "OPENAI_BASE_URL" in variables:
        assert bench(place, "m") == 0
    assert set(stranger.seen) == {f"Bearer {sent}"} if sent else set(stranger.seen) in NO_KEY


def test_one_key_and_two_addresses_are_refused_with_the_lines_that_settle_it(
    place: Place, stranger: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a run is made; with the lines in the user's file each host gets its own."""
    place.variables = {"JUDGEWRIGHT_API_KEY": KEY_X}
    with serving() as other:
        two = (f"m@{stranger.url}", "--optimizer-model", f"o@{other.url}")
        assert place.optimize(*two) == 2
        lines = re.findall(r"^ +(\S+: \{base_url: .*\})$", capsys.readouterr().err, re.M)
        assert len(lines) == 2
        assert not (place.work / ".judgewright").exists()
        place.own_file.parent.mkdir(parents=True)
        place.own_file.write_text("\n".join(lines))
        variables = re.findall(r"key_variable: (\w+)", "\n".join(lines))
        place.variables |= {variable: f"sk-own-of-{variable}" for variable in variables}
        assert place.optimize(*two) != 2
        assert {len(set(stranger.seen)), len(set(other.seen))} == {1}
        assert set(stranger.seen) | set(other.seen) == {
            f"Bearer sk-own-of-{variable}" for variable in variables
        }


def test_a_redirect_takes_neither_key_nor_row_along(
    place: Place, stranger: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host it points to sees nothing; the message names it."""
    place.variables = {"JUDGEWRIGHT_API_KEY": KEY_A}
    with serving(Provider(moved_to=stranger.origin)) as moved:
        assert bench(place, f"m@{moved.url}") == 3
    assert stranger.seen == []
    assert stranger.url in capsys.readouterr().err
    assert place.last_state() == "stopped"


@pytest.mark.parametrize("key", [None, KEY_X])
def test_a_key_that_is_missing_or_wrong_is_named_at_once(
    place: Place, capsys: pytest.CaptureFixture[str], key: str | None
) -> None:
    """By its variable and the file it is bound in; nothing is tried again, and the run can go
    on.
    """
    with serving(Provider(demands=f"Bearer {KEY_A}")) as shut:
        place.bind(acme=(shut.url, "ACME_KEY" if key else None))
        place.variables = {"ACME_KEY": KEY_X, "JUDGEWRIGHT_API_KEY": KEY_B}
        assert bench(place, f"m@{shut.url}") == 3
        told = capsys.readouterr().err
        assert set(shut.seen) == {f"Bearer {key}"} if key else set(shut.seen) in NO_KEY
        assert len(shut.seen) <= 12
    where = f"{place.own_file}, line 1"
    assert (
        f"refused the key in ACME_KEY ({where})" if key else f"{where} has no key_variable"
    ) in told
    assert "CANARY" not in told
    assert place.last_state() == "stopped"


@pytest.mark.parametrize("listed", [False, True])
def test_an_address_that_is_known_to_want_a_key_is_not_asked_without(
    place: Place, stranger: Provider, capsys: pytest.CaptureFixture[str], listed: bool
) -> None:
    """OpenAI's own, and one whose entry names a variable; no half minute of retries."""
    if listed:
        place.bind(acme=(stranger.url, "ACME_KEY"))
    assert bench(place, f"m@{stranger.url}" if listed else "your-model") == 3
    told = capsys.readouterr().err
    assert "needs a key" in told
    assert ("into ACME_KEY (" if listed else "into OPENAI_API_KEY (") in told
    assert stranger.seen == []
    assert place.last_state() == "stopped"
