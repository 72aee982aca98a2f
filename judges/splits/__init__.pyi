from .official import with_holdout_file, with_split_column
from .parts import DEFAULT_SHARES, PARTS, SEALED, SIDES, Part, Shares, Side, Splits, parse_shares
from .split import split_dataset

__all__ = [
    "DEFAULT_SHARES",
    "PARTS",
    "SEALED",
    "SIDES",
    "Part",
    "Shares",
    "Side",
    "Splits",
    "parse_shares",
    "split_dataset",
    "with_holdout_file",
    "with_split_column",
]
