"""What makes two runs one: a hash over all that decides what a run finds, and nothing about how it
is carried out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields

from ...judges import Dataset
from ...optimize.options import changed_options
from ..config.command_options import AuditedRowOptions
from ..config.environment import SIMULATED, Environment
from ..config.optimize_options import OfficialSplitOptions, OptimizeOptions
from .database import Database
from .run_config import RunConfig

PACE = ("concurrency", "engine")
"""Options that change how fast a run is, not what it finds."""
MEANS = (*PACE, "budget", "via", "exchange", "optimizer_via", "yes")
"""Options that may be others when a run goes on."""
_OF_ROWS = tuple(
    field.name for options in (AuditedRowOptions, OfficialSplitOptions) for field in fields(options)
)
"""Options that are seen in the rows as they were read."""


def identify(config: RunConfig, dataset: Dataset, environment: Environment) -> str:
    """Return the hash of judge, objective, settings, models and rows by content, of a pinned
    configuration.
    """
    left_out = {*MEANS, *_OF_ROWS}
    chosen = {
        field.name: value
        for field, _, value in changed_options(config, OptimizeOptions)
        if field.name not in left_out
    }
    if config.edited_judge is not None:
        chosen["edit"] = config.edited_judge.version
    saved = config.saved_slices or {}
    about = {
        "judge": config.judge.version,
        "rule": config.rule,
        "options": chosen,
        "optimizer_model": config.optimizer_access[0],
        "models": [_model(name, environment) for name in config.named_models],
        "settings": config.model_settings,
        "slices": {
            name: saved[name] for name in saved if name in f"{config.objective} {config.loss}"
        },
        "rows": [dataset.content_hash, repr(dataset.labels), _hash_columns(dataset)],
    }
    body = json.dumps(about, sort_keys=True, default=str)
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def find_same(database: Database, identity: str) -> str | None:
    """Return the id of the last run of an identity; None where there is none."""
    rows = database.read(_SAME, (f'%"identity":"{identity}"%',))
    return rows[0][0] if rows else None


def _model(name: str, environment: Environment) -> tuple[str, str]:
    if name == SIMULATED:
        return name, ""
    named = environment.model(name)
    return named.model, named.base_url


def _hash_columns(dataset: Dataset) -> str:
    """Hash what the content hash of rows leaves out and a run reads: their other columns and
    prescribed sides.
    """
    lines: Iterable[tuple[object, ...]] = (
        (row.id, sorted(row.meta.items()), row.sampling_probability, dataset.official.get(row.id))
        for row in dataset.rows
    )
    total = hashlib.blake2b(digest_size=16)
    for line in sorted(map(repr, lines)):
        total.update(line.encode("utf-8", "surrogatepass"))
    return total.hexdigest()


_SAME = (
    "SELECT run_id FROM run WHERE kind = 'optimize' AND config_json LIKE ? ORDER BY seq DESC"
    " LIMIT 1"
)
