"""`judgewright export`: write a judge for use elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from ...judges import write_beside
from ..exports import judge_json, judge_yaml, messages_json
from ..finding import provenance
from ..gating import verification
from ..terminal import say, say_json
from .options import json_option, open_workspace, workspace_option

TARGETS = {"yaml": judge_yaml, "json": judge_json, "messages": messages_json}


@click.command(epilog="Example:  judgewright export groundedness --to messages --out groundedness.json")
@click.argument("judge")
@click.option("--to", "target", type=click.Choice(list(TARGETS)), required=True, help="The format.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write [default: print it].")
@workspace_option
@json_option
def export(judge: str, target: str, out: Path | None, workspace: Path | None, as_json: bool) -> None:
    """Write JUDGE (name, name@version or YAML file) with where it was gated, simulated models marked as such."""
    with open_workspace(workspace) as place:
        prompt = place.shelf.get(judge)
        origin = provenance(place, prompt)
        origin["verification"] = verification(place, prompt)
        kept = place.shelf.kept_rule(prompt)
        rule = kept.rule if kept else None
    text = TARGETS[target](prompt, origin, rule)
    if out is not None:
        write_beside(out, text)
    if as_json:
        body = {"judge": prompt.name, "version": prompt.version, "target": target, "provenance": origin}
        say_json(body | ({"path": str(out)} if out else {"text": text}))
    elif out is None:
        say(text.rstrip("\n"))
    else:
        tag = " (gated on a simulated model)" if origin["simulated"] else ""
        say(f"{prompt.name}@{prompt.version}{tag} written to {out}")
