"""Walk with a real language model as judge and as writer: which ways to use labels help.

    python benchmarks/walk prepare [--used FOLDER ...] | go  [--folder FOLDER]

`prepare` draws the rows of three tasks of `../shared/data`, apart from those of an earlier walk,
and writes the list of their ids. `go` reads the replies that have come and writes what can be asked
next into files under `ask` (rows to judge) and `write` (requests to a writer, word for word),
entered in `READY`; those without a whole reply stand in `WAITING`. Run it again and again.

Each task goes its own way: the arms on the open rows, each row judged by what was made of the other
folds; then `open_table.md`, and in `default.json`, with the time, the arm that the rule chooses;
only then the sealed rows of the baseline and that arm, and the one look of the gate
(`gate.TASK.json`); then the other arm's sealed rows as measurement, and `sealed_table.md`. What
happens stands in `STATUS`. Rows, requests and replies stay in the folder.

The rule, fixed before a row was read: of the arms whose precision rose on the open rows the one
goes to the gate whose chance there times estimated gain is greatest. Where none rose none goes.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from arms import ARMS, OBJECTIVE, WRITTEN, Bench
from drawn_rows import FOLDS, TASKS, prepare
from request_files import Exchange, Missing
from tables import NOTE, promises, table, tokens_a_row

from judgewright.judges import Dataset, JudgedDataset, JudgePrompt, SealedRows, write_beside
from judgewright.optimize import gate
from judgewright.runs.store import SqliteDatabase
from judgewright.runs.store.journal import create_run
from judgewright.runs.store.ledger import HoldoutLedger


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["prepare", "go"])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/walk3"))
    parser.add_argument("--used", type=Path, nargs="*", default=[], help="of earlier walks")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lock = (options.folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # until the end: the map is one file
    if options.command == "prepare":
        print(prepare(options.folder / "data", [one / "data" for one in options.used]))
    else:
        Walk(options.folder).go()


class Walk:
    """All tasks, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exchange = Exchange(folder)
        self.benches = {
            name: Bench(task=task, folder=folder, exchange=self.exchange, say=self.note)
            for name, task in TASKS.items()
        }

    @cached_property
    def database(self) -> SqliteDatabase:
        """The workspace with the gate's ledger, opened once: it is locked."""
        return SqliteDatabase(self.folder / "workspace.db")

    def note(self, text: str) -> None:
        """Add a line to the log, once."""
        log = self.folder / "STATUS"
        if text not in (log.read_text() if log.exists() else ""):
            with log.open("a") as lines:
                lines.write(f"{time.strftime('%H:%M', time.gmtime())} {text}\n")

    def go(self) -> None:
        """Take each task as far as its replies allow; an error of one does not stop the others."""
        for name, bench in self.benches.items():
            try:
                self._task(name, bench)
            except Exception as error:  # noqa: BLE001
                self.note(f"{name}: ERROR {type(error).__name__}: {error}")
        write_beside(self.folder / "WAITING", "".join(f"{x}\n" for x in self.exchange.waiting()))

    def _task(self, name: str, bench: Bench) -> None:
        opened = self._answered(ARMS, bench.across_folds)
        if WRITTEN in ARMS:
            self._answered([WRITTEN], lambda arm: bench.made(arm, None))
        if len(opened) < len(ARMS):
            return
        estimated = promises(opened, bench.folds(), self._groups(bench))
        words = {arm: str(one) for arm, one in estimated.items()}
        self._table(bench, "open", opened, words)
        default = self._default(
            name,
            {
                arm: one.promised
                for arm, one in estimated.items()
                if one.chance.measured["precision"] > 0
            },
            words,
        )
        decided = self.folder / f"gate.{name}.json"
        if not decided.exists():
            if default is None:
                write_beside(decided, json.dumps({"outcome": "not sent"}))
            elif len(self._answered(["A", default], bench.sealed)) == 2:
                self._gate(name, bench, default)
            else:
                return
        sealed = self._answered(ARMS, bench.sealed)
        if len(sealed) == len(ARMS):
            self._table(bench, "sealed", sealed, words)
            self.note(f"{name}: all is answered")

    def _default(self, name: str, promised: dict[str, float], words: dict[str, str]) -> str | None:
        """Return the arm that goes to the gate; choose it once, by the rule."""
        path = self.folder / "default.json"
        chosen = json.loads(path.read_text()) if path.exists() else {}
        if name not in chosen:
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            arm = max(promised, key=lambda one: promised[one], default=None)
            chosen[name] = {"date": date, "arm": arm, "estimated": words}
            write_beside(path, json.dumps(chosen, indent=1))
            self.note(f"{name}: {arm} goes to the gate")
        return chosen[name]["arm"]

    def _gate(self, name: str, bench: Bench, arm: str) -> None:
        """Look once."""
        rows = bench.rows("sealed")
        prompts = {bench.made(one, None).version: one for one in ("A", arm)}

        def judge(prompt: JudgePrompt, some: Dataset, repeat: int) -> JudgedDataset:
            # A row without a verdict stays without: it is not asked again.
            whole = bench.sealed(prompts[prompt.version])
            ids = {row.id for row in some.rows}
            return whole.only([i for i, row in enumerate(whole.dataset.rows) if row.id in ids])

        decision = gate(
            bench.made("A", None),
            bench.made(arm, None),
            SealedRows(rows, name="holdout", groups=self._groups(bench)),
            OBJECTIVE,
            judge=judge,
            ledger=HoldoutLedger(self.database),
            run_id=create_run(self.database, "optimize", {"name": name}),
        )
        text = json.dumps({"arm": arm} | asdict(decision), default=str, indent=1)
        write_beside(self.folder / f"gate.{name}.json", text)
        self.note(f"{name}, {arm}: {decision.outcome}: {decision.reason}")

    def _table(
        self, bench: Bench, kind: str, judged: dict[str, JudgedDataset], words: dict[str, str]
    ) -> None:
        name = bench.task.name
        without = 0 if kind == "open" else None
        tokens = {arm: tokens_a_row(bench.made(arm, without), side) for arm, side in judged.items()}
        lines = [f"## {name}\n\n{bench.task.note}\n", table(judged, tokens, estimated=words), ""]
        if WRITTEN in ARMS:
            lines.append("Requests to a writer, and their tokens with replies:")
            for where in (*(f"fold {fold}" for fold in range(FOLDS)), "all open rows"):
                count, size = self.exchange.written(f"{name} open {WRITTEN} {where}")
                rows = where if where == "all open rows" else f"all but {where}"
                lines.append(f"- {rows}: {count}, about {size:,} tokens")
        write_beside(self.folder / f"{kind}.{name}.md", "\n".join(lines))
        parts = [part.read_text() for part in sorted(self.folder.glob(f"{kind}.*.md"))]
        text = "\n\n".join([f"# The {kind} rows", *parts, NOTE])
        write_beside(self.folder / f"{kind}_table.md", f"{text}\n")

    def _groups(self, bench: Bench) -> int:
        return len({row.group for row in bench.rows("sealed").rows})

    def _answered(self, arms: Iterable[str], of: Callable[[str], Any]) -> dict[str, Any]:
        """Return what the replies give for the arms; the others wait."""
        judged: dict[str, Any] = {}
        for arm in arms:
            try:
                judged[arm] = of(arm)
            except Missing:
                continue
        return judged


if __name__ == "__main__":
    main()
