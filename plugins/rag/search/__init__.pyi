from .features import FEATURES, text_features
from .fusion import METHODS, Fuser, Fusion, Method
from .paired_gain import Gain, paired_gain
from .table import SearchTable
from .trec_run import read_trec_run
from .tuning import SearchTuning, TuneSettings, tune_search

__all__ = [
    "FEATURES",
    "METHODS",
    "Fuser",
    "Fusion",
    "Gain",
    "Method",
    "SearchTable",
    "SearchTuning",
    "TuneSettings",
    "paired_gain",
    "read_trec_run",
    "text_features",
    "tune_search",
]
