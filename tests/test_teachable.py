"""The world that methods are compared in stays as it was before the first comparison."""

from __future__ import annotations

import hashlib
import random
import runpy
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "teachable"
FROZEN = {
    "world.py": "f6c8c829164811e402af6d68fca7abe0",
    "optimizer.py": "7495dce4cb7c4cfa85c0d260e1639acd",
}
"""BLAKE2 of each file. A new hash makes every earlier table incomparable: see "Frozen" in
`world.py`.
"""


def test_the_world_is_the_one_that_was_frozen() -> None:
    """Whoever changes the judge, the rules, the seeds or the optimizer's reading must measure
    everything again.
    """
    found = {
        name: hashlib.blake2b((FOLDER / name).read_bytes(), digest_size=16).hexdigest()
        for name in FROZEN
    }
    assert found == FROZEN


def test_every_rule_is_read_back_in_every_wording() -> None:
    """The judge knows a rule by its words, and the prompts that a search begins with hold none."""
    world = runpy.run_path(str(FOLDER / "world.py"))
    chance = random.Random(0)
    for attribute in world["ATTRIBUTES"]:
        for wish in ("strict", "lenient"):
            for kind in ("", *world["KINDS"]):
                rule = world["Rule"](attribute.name, wish, kind)
                for _ in range(20):
                    sentence = world["write_rule"](rule, "statement", chance)
                    assert list(world["read_rules"](sentence).values()) == [(rule,)], sentence
    for task in world["TASKS"]:
        assert not world["read_rules"](task.prompt.criteria)
