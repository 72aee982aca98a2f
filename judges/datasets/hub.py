"""A data set by its name on the Hugging Face hub, through `datasets` (the `hub` extra)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError, WorldError


@contextmanager
def fetched(name: str, *, split: str | None = None, config: str | None = None) -> Iterator[Path]:
    """Load a data set and give it as a Parquet file, which is gone afterwards.

    A gated set needs the hub's own log-in (`hf auth login`); no token passes through here.
    The name is `owner/name`, or a local folder that `datasets` can load.

    Raises:
        InputError: The extra is not installed, there is no such data set, or a split must be named.
        WorldError: The hub cannot be reached.
    """
    try:
        import datasets
    except ImportError:
        raise InputError(
            "data sets by name need the package datasets",
            hint="pip install 'judgewright[hub]', or download the files and name their path",
        ) from None
    with tempfile.TemporaryDirectory(prefix="judgewright-hub-") as folder:
        try:
            loaded = datasets.load_dataset(name, config, split=split)
        except (FileNotFoundError, ValueError) as error:
            raise InputError(f"the hub's data set {name!r} cannot be loaded: {error}") from error
        except OSError as error:
            raise WorldError(f"the hub's data set {name!r} cannot be fetched: {error}") from error
        if not isinstance(loaded, datasets.Dataset):
            names = ", ".join(map(str, loaded))
            raise InputError(
                f"{name!r} has several splits: {names}", hint="name one with --hub-split"
            )
        # As a file, so that one reader serves the hub and the release.
        path = Path(
            folder,
            f"{name.rstrip('/').rpartition('/')[2]}-{split or loaded.split or 'all'}.parquet",
        )
        loaded.to_parquet(path)
        yield path
