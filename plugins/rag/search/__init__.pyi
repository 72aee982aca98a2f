from .features import FEATURES, text_features
from .fusion import METHODS, Fuser, Fusion, Method
from .paired_gain import Gain, paired_gain
from .table import SearchTable
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
    "text_features",
    "tune_search",
]
