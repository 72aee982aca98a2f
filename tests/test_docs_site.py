"""The site builds without warnings and fetches nothing; the tutorial and the other examples are
true.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from judgewright.judges import Registry
from judgewright.judges.models import ModelSettings, Origin, checked_url
from judgewright.runs.config import read_environment, read_user_models, read_workspace_models
from judgewright.runs.exports import TARGETS, ExportContext, write_export

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SERVED = "http://127.0.0.1:8399/v1"
"""The address of the simulated endpoint on the page."""
LEFT_OUT = {"...", ""}
"""Lines of an output on the page that stand for lines that are not shown, or for none."""


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind on a page."""
    return [
        text for marker, text in BLOCK.findall(page.read_text(encoding="utf-8")) if marker == kind
    ]


def joined(text: str) -> list[str]:
    """The lines of a block, with those that go on put together."""
    return re.sub(r" \\\n +", " ", text).splitlines()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a page outside the nav, and a link or an anchor that leads nowhere,
    are warnings.
    """
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    """The written pages, and those that the build writes."""
    written = {str(page.relative_to(DOCS).with_suffix(".html")) for page in PAGES}
    names = ("start", "commands", "python", "judges", "slices", "optimize", "exports")
    reference = {f"reference/{name}.html" for name in names}
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    assert pages == written | reference | {"contributing.html", "404.html"}


def test_language_models_find_every_page(site: Path) -> None:
    """`llms.txt` names the product and links to every page of the index, each of which is there."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Judgewright\n\n> ")
    links = set(re.findall(r"\]\(([^)]*)\)", text))
    assert {"index.html", "how-to/agents.html", "reference/commands.html"} <= links
    assert links == {str(p.relative_to(site)) for p in site.rglob("*.html")} - {"404.html"}


class Loads(HTMLParser):
    """What a browser fetches for a page by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href" if tag == "link" else "src")
        if address:
            self.addresses.append(address)


def test_the_site_fetches_nothing(site: Path) -> None:
    """Scripts, styles, pictures and fonts are its own."""
    for page in site.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert [address for address in loads.addresses if "//" in address] == [], page
    for style in site.rglob("*.css"):
        assert not re.search(
            r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")
        ), style


def test_the_reference_has_every_command_and_target(site: Path) -> None:
    """Nested commands too; the page about exports has the lines of every target."""
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for path in ("judgewright optimize", "judgewright runs show", "judgewright export verify"):
        assert f"Usage: {path} " in commands
    exports = (site / "how-to" / "export.html").read_text(encoding="utf-8")
    assert re.findall(r'<h3 id="([\w-]+)">', exports) == list(TARGETS)


def test_the_reference_has_every_public_name(site: Path) -> None:
    """Signatures and docstrings of a face."""
    from judgewright import judges

    page = (site / "reference" / "judges.html").read_text(encoding="utf-8")
    assert [name for name in judges.__all__ if f">{name}<a" not in page] == []
    assert "<strong>Raises</strong>" in page
    assert "split_dataset(" in page


def test_the_reference_knows_the_task_of_every_command() -> None:
    """A new command is put where people look for it; and no task is without Python names."""
    reference = pytest.importorskip("docs.reference", reason="mkdocs is not installed: make docs")
    assert set(reference.command_tasks()) == set(reference.COMMAND_TASKS)
    for page, tasks in reference.PYTHON_TASKS.items():
        assert set(reference.python_tasks(page)) >= set(tasks), page


class TutorialRun:
    """A person who types what the tutorial shows, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_id = ""
        self.url = ""
        self.servers: list[subprocess.Popen[str]] = []
        environment = {
            name: text
            for name, text in os.environ.items()
            if "API_KEY" not in name and name != "COLUMNS"
        }
        self.environment = environment | {"JUDGEWRIGHT_WORKSPACE": str(folder)}

    def type(self, line: str) -> str:
        """Run a line and return what it printed."""
        typed = line.replace("RUN", self.run_id).replace(SERVED, self.url)
        words = shlex.split(typed.removesuffix(" &"))
        program = {
            "judgewright": [sys.executable, "-m", "judgewright"],
            "python": [sys.executable],
        }[words[0]]
        if line.endswith(" &"):
            return self._serve([*program, *words[1:]])
        done = subprocess.run(
            [*program, *words[1:]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if match := re.search(r"^Run (\S+):", done.stdout, re.MULTILINE):
            self.run_id = match.group(1)
        return done.stdout

    def _serve(self, command: list[str]) -> str:
        """Start a server on a free port and return what it says up to its address."""
        free = [
            "0" if before == "--port" else word
            for before, word in zip(["", *command], command, strict=False)
        ]
        pipe = (
            subprocess.PIPE
        )  # read to the address and no further: neither server says much after it
        server = subprocess.Popen(
            free, cwd=self.folder, env=self.environment, stdout=pipe, text=True
        )
        self.servers.append(server)
        assert server.stdout is not None
        output = ""
        for line in server.stdout:
            output += line
            if match := re.search(r"http://\S+", line):
                self.url = self.url or match.group()
                return output.replace(self.url, SERVED)
        raise AssertionError(f"{command} did not say where it listens: {output}")

    def stop(self) -> None:
        """Stop the servers."""
        for server in self.servers:
            server.terminate()
            server.communicate(timeout=600)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[TutorialRun]:
    """See `TutorialRun`."""
    run = TutorialRun(tmp_path)
    yield run
    run.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_does_what_it_says(run: TutorialRun) -> None:
    """Its commands in order, over HTTP: each exits with 0 and prints the lines on the page; the
    prompt is exported.
    """
    printed: list[str] = []
    for kind, text in BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        if kind == "":
            printed = [line for typed in joined(text) for line in run.type(typed).splitlines()]
        elif kind == "text":
            shown = [
                line.replace("RUN", run.run_id)
                for line in text.splitlines()
                if line.strip() not in LEFT_OUT
            ]
            rest = iter(printed)
            missing = [line for line in shown if line not in rest]
            assert missing == [], (
                f"the page shows what was not printed, or not in this order:\n{missing[0]}"
            )
    manifest = json.loads((run.folder / "handover" / "manifest.json").read_text())
    assert manifest["simulated"] is True
    assert manifest["provenance"]["run"] == run.run_id
    assert (
        "Compare each number with the source"
        in (run.folder / "handover" / "judge.json").read_text()
    )


def test_the_models_file_of_the_page_is_read(tmp_path: Path) -> None:
    """Each address of the page's command has its own key, and no other."""
    page = DOCS / "how-to" / "keys.md"
    (text,) = blocks(page, "yaml")
    (tmp_path / "models.yaml").write_text(text)
    keys = {
        "ACME_API_KEY": "a",
        "HUB_TOKEN": "h",
        "JUDGEWRIGHT_API_KEY": "x",
        "OPENAI_API_KEY": "o",
    }
    environment = read_environment({"JUDGEWRIGHT_MODELS": str(tmp_path / "models.yaml"), **keys})
    (line,) = [
        line for block in blocks(page, "") for line in joined(block) if "--optimizer-model" in line
    ]
    specs = [word for word in shlex.split(line) if "@http" in word]
    ring = environment.naming(*specs).keyring()
    bound = [ring.binding(Origin.of(spec.partition("@")[2])) for spec in specs]
    assert [binding and binding.key for binding in bound] == ["a", "h"]


def test_the_models_of_the_page_can_be_used(tmp_path: Path) -> None:
    """Both files are read, every setting is explained, and every provider's address is one."""
    page = DOCS / "how-to" / "models.md"
    own, shared = (tmp_path / name for name in ("own.yaml", "models.yaml"))
    for path, text in zip((own, shared), blocks(page, "yaml"), strict=True):
        path.write_text(text)
    (entry, _), (team,) = read_user_models(own), read_workspace_models(shared)
    assert (entry.key_variable, team.name) == ("ACME_API_KEY", "team-judge")
    tables = re.findall(r"^\| (.+?) \| (.+?) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    explained = {name for first, _ in tables for name in re.findall(r"`(\w+)`", first)}
    assert {field.name for field in fields(ModelSettings)} <= explained
    listed = (DOCS / "how-to" / "providers.md").read_text(encoding="utf-8")
    addresses = re.findall(r"^\| .+? \| `(https?://.+?)` \| ", listed, re.MULTILINE)
    assert len(addresses) >= 15
    for address in addresses:
        assert checked_url(address.replace("RESOURCE", "acme").replace("REGION", "eu-west-1"))


def test_the_workflow_and_the_hook_of_the_page_ask_what_the_page_explains() -> None:
    """Both parse, know what they give to, and put the same question as the command."""
    page = DOCS / "how-to" / "ci-gate.md"
    workflow, hooks = (yaml.safe_load(text) for text in blocks(page, "yaml"))
    commands = [line.split() for block in blocks(page, "") for line in joined(block)]
    command = next(words for words in commands if words[:2] == ["judgewright", "gate"])
    (job,) = workflow["jobs"].values()
    (given,) = (step["with"] for step in job["steps"] if step.get("uses", "").startswith("./"))
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    needed = {name for name, body in action["inputs"].items() if body.get("required")}
    assert needed <= set(given) <= set(action["inputs"])
    arguments = given["arguments"].split()
    assert [given["prompt"], given["holdout"], *arguments] == command[3 : 5 + len(arguments)]
    (hook,) = hooks["repos"][0]["hooks"]
    (shipped,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["id"] == shipped["id"]
    assert hook["args"][:5] == command[2:7]
    assert re.fullmatch(hook["files"], given["prompt"])


ENVIRONMENTS = ROOT / ".verify"
"""One environment for each tool; `make verify-exports` installs them."""
RUN = (
    *("jinja", "python", "dspy", "mlflow", "trulens"),
    *(
        "azure",
        "braintrust",
        "deepeval",
        "langchain",
        "openevals",
        "opik",
        "phoenix",
        "ragas",
        "weave",
    ),
)
"""Targets whose lines are run as they are."""
RUN_IN_A_SHELL = ("inspect", "lmeval", "promptfoo")
"""Targets whose lines are commands of the tool's own."""
NOT_RUN = {
    "yaml": "a command line, which is tried like every other",
    "markdown": "for people",
    "langfuse": "they need a Langfuse server",
}
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPIK_SENTRY_ENABLE": "false",
    "OPIK_TRACK_DISABLE": "true",
    "RAGAS_DO_NOT_TRACK": "true",
    "WANDB_ERROR_REPORTING": "false",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "WEAVE_DISABLED": "true",
}
"""Tools that would call home do not."""


def test_no_target_is_forgotten() -> None:
    """The lines of each target are run below, or it is said why not."""
    assert sorted((*RUN, *RUN_IN_A_SHELL, *NOT_RUN)) == sorted(TARGETS)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a simulated endpoint."""
    run = TutorialRun(tmp_path_factory.mktemp("endpoint"))
    run.type("judgewright models simulate --port 8399 &")
    yield run.url
    run.stop()


def exported_usage(target: str, folder: Path) -> str:
    """Export a judge into a folder; return the lines that use it."""
    prompt = Registry().get("groundedness")
    export = write_export(
        ExportContext(prompt=prompt, rule=prompt.rule, provenance={}), TARGETS[target], folder
    )
    return str(export.body["usage"])


def run_in(
    command: list[str], folder: Path, endpoint: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run something in a folder, with an endpoint that the environment names."""
    environment = {name: text for name, text in os.environ.items() if "API_KEY" not in name}
    environment |= {
        "OPENAI_BASE_URL": endpoint,
        "OPENAI_API_BASE": endpoint,
        "OPENAI_API_KEY": "none",
        "HOME": str(folder),
    }
    environment |= QUIET | more
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", RUN)
def test_the_lines_that_use_an_export_run(target: str, endpoint: str, tmp_path: Path) -> None:
    """As the page shows them, in the tool's own environment, against an endpoint that the
    environment names.
    """
    python = (
        ENVIRONMENTS / target / "bin" / "python"
        if TARGETS[target].requires
        else Path(sys.executable)
    )
    if not python.exists():
        pytest.skip(f"{TARGETS[target].tool} is not installed: make verify-exports")
    usage = exported_usage(target, tmp_path)
    ran = run_in([str(python), "-c", usage], tmp_path, endpoint)
    if match := re.search(r"No module named '((?!groundedness)[\w.]+)'", ran.stderr):
        pytest.skip(f"{match.group(1)} is not installed beside {TARGETS[target].tool}")
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize("target", RUN_IN_A_SHELL)
def test_the_commands_that_use_an_export_run(target: str, endpoint: str, tmp_path: Path) -> None:
    """As the page shows them, beside a file of rows; `npx` finds what is installed beside the
    files.
    """
    installed = ENVIRONMENTS / target
    if not installed.exists():
        pytest.skip(f"{TARGETS[target].tool} is not installed: make verify-exports")
    usage = exported_usage(target, tmp_path)
    rows = [
        {"source": f"The hotel has {n} rooms.", "statement": f"It has {n} rooms."} for n in (44, 45)
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    programs = installed / "bin"
    if target == "promptfoo":
        programs = installed / "node_modules" / ".bin"
        (tmp_path / "node_modules").symlink_to(installed / "node_modules")
        config = tmp_path / "promptfooconfig.yaml"
        body = yaml.safe_load(config.read_text(encoding="utf-8")) | {
            "tests": [{"vars": row} for row in rows]
        }
        config.write_text(yaml.safe_dump(body), encoding="utf-8")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ran = run_in(
        ["bash", "-ec", usage],
        tmp_path,
        endpoint,
        PATH=path,
        HF_HUB_OFFLINE="1",
        npm_config_offline="true",
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said[-2000:]
    done = {
        "inspect": r"mean +3\.000",
        "lmeval": r"groundedness +\|↑ +\| +3\|",
        "promptfoo": r"2 passed \(100%\)",
    }
    assert re.search(done[target], said), said[-2000:]
