"""Walk with a real language model as judge and as writer: which ways to use labels help.

    python benchmarks/walk prepare | open | control | table | sealed | gate | status  [--folder F]

`prepare` draws the rows of three tasks of `../shared/data` and writes the list of their ids.
`open` writes what can be asked at this stage into files under `ask` (rows to judge) and `write`
(requests to a writer, word for word), entered in `READY`; run again it reads the replies beside
them and goes on. `control` asks for more: a session that answers fifty rows with four cases each
reads two hundred cases. `table` is of the open rows, each judged by what the other fold made.
`sealed` and `gate` wait for `default.json`, which names the arm of each task that the open rows
chose and the date: {"date": "...", "arms": {"groundedness": "D", ...}}. The gate looks once a task;
only then are the other arms asked about the sealed rows. Rows, requests and replies stay in the
folder.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from arms import ARMS, CONTROLS, OBJECTIVE, Bench, arms_of
from drawn_rows import TASKS, prepare
from request_files import Exchange, Missing
from tables import NOTE, belief, table, tokens_a_row

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
    parser.add_argument(
        "command",
        choices=["prepare", "open", "control", "table", "sealed", "gate", "status"],
    )
    parser.add_argument("--folder", type=Path, default=Path("/tmp/walk"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    walk = Walk(options.folder)
    lock = (options.folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # until the end: the map is one file
    if options.command == "prepare":
        print(prepare(options.folder / "data"))
    elif options.command == "status":
        print("\n".join(walk.exchange.status()))
    else:
        getattr(walk, options.command)()


class Walk:
    """The commands, all on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exchange = Exchange(folder)
        self.benches = {
            name: Bench(task=task, folder=folder, exchange=self.exchange, say=self.note)
            for name, task in TASKS.items()
        }

    def note(self, text: str) -> None:
        """Add a line to the log."""
        log = self.folder / "STATUS"
        if text not in (log.read_text() if log.exists() else ""):
            with log.open("a") as lines:
                lines.write(f"{time.strftime('%H:%M', time.gmtime())} {text}\n")

    def open(self) -> None:
        """Ask what can be asked about the open rows."""
        for name, bench in self.benches.items():
            self._all(name, arms_of(bench.task, sealed=False), bench.across_folds)

    def control(self) -> None:
        """Ask whether a session learns from the cases of the rows before."""
        for name, bench in self.benches.items():
            arms = CONTROLS if name == "groundedness" else ["G"]
            self._all(name, list(arms), bench.across_folds)

    def table(self) -> None:
        """Write the table of the open rows."""
        parts: list[str] = []
        for name, bench in self.benches.items():
            arms = arms_of(bench.task, sealed=False)
            arms += [arm for arm in CONTROLS if self.exchange.knows(f"{name} open {arm} ")]
            judged = self._all(name, arms, bench.across_folds)
            tokens = {
                arm: tokens_a_row(bench.made(arm, None if arm == "A" else 0), side)
                for arm, side in judged.items()
            }
            groups = len({row.group for row in bench.rows("sealed").rows})
            if "A" in judged:
                parts += [f"## {name}", table(judged, tokens, groups=groups, believed=True)]
                parts.append(self._writers(name, "open"))
                parts.append(NOTE.format(arms=len(judged) - 1, groups=groups))
        text = "\n\n".join(["# Open rows, across two folds", *parts]) + "\n"
        write_beside(self.folder / "open_table.md", text)
        print(text)

    def sealed(self) -> None:
        """Ask about the sealed rows: the default first, the other arms once the gate has looked."""
        default = self._default()
        parts: list[str] = []
        for name, bench in self.benches.items():
            decided = self.folder / f"gate.{name}.json"
            arms = arms_of(bench.task, sealed=True)
            if not decided.exists():
                arms = ["A", default[name]]
            judged = self._all(name, arms, bench.sealed)
            if not decided.exists() or len(judged) < len(arms):
                continue
            tokens = {arm: tokens_a_row(bench.made(arm, None), judged[arm]) for arm in judged}
            groups = len({row.group for row in bench.rows("sealed").rows})
            parts += [f"## {name}", table(judged, tokens, groups=groups, believed=False)]
            parts += [self._writers(name, "open"), self._believed(bench)]
        if parts:
            text = "\n\n".join(["# Sealed rows", *parts]) + "\n"
            write_beside(self.folder / "sealed_table.md", text)
            print(text)

    def gate(self) -> None:
        """Let the gate look at each task's default, once all its rows are answered."""
        default = self._default()
        database = SqliteDatabase(self.folder / "workspace.db")
        for name, bench in self.benches.items():
            arm, path = default[name], self.folder / f"gate.{name}.json"
            if path.exists():
                print(f"{name}, {arm}: the gate has looked: {path}")
                continue
            if len(self._all(name, ["A", arm], bench.sealed)) < 2:
                continue
            rows = bench.rows("sealed")
            prompts = {bench.made(one, None).version: one for one in ("A", arm)}

            def judge(
                prompt: JudgePrompt,
                some: Dataset,
                repeat: int,
                bench: Bench = bench,
                prompts: dict[str, str] = prompts,
            ) -> JudgedDataset:
                # A row without a verdict stays without: it is not asked again.
                whole = bench.sealed(prompts[prompt.version])
                ids = {row.id for row in some.rows}
                return whole.only([i for i, r in enumerate(whole.dataset.rows) if r.id in ids])

            decision = gate(
                bench.made("A", None),
                bench.made(arm, None),
                SealedRows(rows, name="holdout", groups=len({r.group for r in rows.rows})),
                OBJECTIVE,
                judge=judge,
                ledger=HoldoutLedger(database),
                run_id=create_run(database, "optimize", {"name": name}),
            )
            write_beside(path, json.dumps(asdict(decision), default=str, indent=1))
            print(f"{name}, {arm}: {decision.outcome}: {decision.reason}")

    def _writers(self, name: str, part: str) -> str:
        """Say how many requests the writers of each arm answered, those of all rows too."""
        lines = ["Requests to a writer, B2 after those of C:"]
        for arm in ("B", "C", "B2"):
            for where in ("fold 0", "fold 1", "all open rows"):
                count, tokens = self.exchange.written(f"{name} {part} {arm} {where} ")
                if count:
                    lines.append(f"- {arm}, {where}: {count}, about {tokens:,} tokens with replies")
        return "\n".join(lines)

    def _believed(self, bench: Bench) -> str:
        """Say what the open rows had made believe of each arm."""
        arms = arms_of(bench.task, sealed=False)
        base = bench.across_folds("A")
        groups = len({row.group for row in bench.rows("sealed").rows})
        lines = ["Believed of the open rows:"]
        for arm in arms[1:]:
            words = belief(base, bench.across_folds(arm), groups, len(arms) - 1)
            lines.append(f"- {arm}: {words}")
        return "\n".join(lines)

    def _default(self) -> dict[str, str]:
        path = self.folder / "default.json"
        if not path.exists():
            raise SystemExit("the sealed rows wait for default.json, with the date of the choice")
        stated = json.loads(path.read_text())
        arms = stated.get("arms", {})
        if not stated.get("date") or not all(arms.get(name) in ARMS for name in TASKS):
            raise SystemExit("default.json needs a date, and an arm for each task")
        return arms

    def _all(
        self, name: str, arms: list[str], judge: Callable[[str], JudgedDataset]
    ) -> dict[str, JudgedDataset]:
        """Return the arms that are answered, and say what the others wait for."""
        judged: dict[str, JudgedDataset] = {}
        for arm in arms:
            try:
                judged[arm] = judge(arm)
            except Missing as missing:
                print(f"{name} {arm}: {missing}")
        return judged


if __name__ == "__main__":
    main()
