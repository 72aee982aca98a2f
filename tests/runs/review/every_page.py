"""Every page that there is, each by its address, and a workspace in which all of them can be
opened.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from judgewright.judges import Registry
from judgewright.runs.review.app_state import BYTES_HERE
from judgewright.runs.review.routes import Address
from judgewright.runs.review.sections import SECTIONS

from .conftest import Workbench, post, serving, settled, visit

START = urlencode(
    {
        "data": "rows.jsonl",
        "judge": "groundedness",
        "model": "simulated",
        "objective": "raise precision",
        "plan": "1",
    }
)
PAGES = (
    "/",
    "/runs/{run}",
    "/runs/{run}/evidence",
    "/runs/{run}/flips",
    "/runs/{after}",
    "/runs/{after}/rows?slice=channel%3Dprint",
    "/runs/{after}/slices?column=channel",
    "/compare",
    "/compare?run={before}&run={after}",
    "/matrix?judge={before}&judge={after}&rows=flips",
    "/matrix",
    "/matrix?judge={before}&judge={after}&rows=errs&slice=channel%3Dpdf&page=2",
    "/matrix/row?judge={before}&judge={after}&row={row}",
    "/judges",
    "/judges/groundedness",
    "/judges/groundedness/diff?from={first}&to={second}",
    "/judges/groundedness/handover/{second}",
    "/judges/groundedness/handover/{second}/mlflow",
    "/judges/groundedness/handover/{second}/mlflow/push",
    "/label",
    "/label/{queue}?annotator=ann",
    "/start",
    "/start?{start}",
    "/start?way=measure&data=rows.jsonl",
    "/jobs",
    "/jobs/{job}",
    "/nothing/here",
)
WORKING = "/work/{work}"
"""The page that says what is being done, which is there only while it is."""
NO_PAGES = frozenset(
    {
        "/runs/{run}/evidence/{part}",
        "/example/{part}",
        "/judges/{name}/chart",
        "/judges/{name}/handover/{version}/{target}/archive",
        "/matrix/rows",
    }
)
"""Addresses of a part of a page, or of a file to keep."""


def pages_of_the_app() -> set[str]:
    """Return the addresses that the application answers with a page, as it spells them."""
    addresses = [address for section in SECTIONS for address in section.addresses]
    return {
        one.path for one in addresses if isinstance(one, Address) and one.method == "GET"
    } - NO_PAGES


def page_of(path: str) -> str | None:
    """Return the address, as the application spells it, that answers an address of `PAGES`; None
    for none.
    """
    opened = re.sub(r"[?].*", "", path)
    for address in sorted(pages_of_the_app(), key=lambda one: one.count("{")):
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", address), opened):
            return address
    return None


@dataclass(frozen=True)
class Bench:
    """A workspace that is served, and what the addresses of its pages name."""

    link: str
    names: dict[str, str]
    large: str
    """A data file that a process of its own reads."""

    def address(self, path: str) -> str:
        """Return where a page of `PAGES` is."""
        return self.link.partition("/?")[0] + path.format(**self.names)


@contextmanager
def every_page(bench_made: Workbench, folder: Path) -> Iterator[Bench]:
    """Serve a workspace with runs, benchmarks, a queue, a job and a registry; no test changes
    it.
    """
    made = replace(bench_made, root=folder / "work")
    shutil.copytree(bench_made.root, made.root)
    with visit(made.root) as client:
        fields = {
            "data": "rows.jsonl",
            "judge": "groundedness",
            "model": "simulated",
            "objective": "raise precision",
        }
        assert post(client, "/start/ask", **fields)[0] == 303
        job = settled(made.root)
        keys = re.findall("row=([0-9a-f]{16})", client.get("/matrix").text)
    lines = (made.root / "more.jsonl").read_text(encoding="utf-8").splitlines()
    padding = " " * (BYTES_HERE // len(lines))
    (made.root / "large.jsonl").write_text(
        "".join(f"{line}{padding}\n" for line in lines), encoding="utf-8"
    )
    (folder / "tools.yaml").write_text(
        "mlflow: {push: 'http://127.0.0.1:9', with: /nowhere/python}\n"
    )
    first, second = (
        prompt.version for prompt in Registry(made.root / "prompts").versions("groundedness")[:2]
    )
    names = {
        "run": made.run_id,
        "before": made.before,
        "after": made.after,
        "queue": made.queue,
        "job": job.job_id,
    }
    names |= {"row": keys[0], "first": first, "second": second, "start": START}
    os.environ["JUDGEWRIGHT_MODELS"], before = (
        str(folder / "models.yaml"),
        os.environ.get("JUDGEWRIGHT_MODELS"),
    )
    try:
        with serving(made.root) as link:
            yield Bench(link=link, names=names, large="large.jsonl")
    finally:
        if before is None:
            del os.environ["JUDGEWRIGHT_MODELS"]
        else:
            os.environ["JUDGEWRIGHT_MODELS"] = before
