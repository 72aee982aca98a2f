"""Annotation at scale: definitions, pairs sampled from a corpus, cut-offs, the label matrix."""

from .annotate import (
    CONFIDENT,
    Item,
    Outside,
    Pair,
    ReviewQueue,
    SampleEstimates,
    SamplePlan,
    estimate_from_sample,
    pair_dataset,
    review_queue,
    sample_pairs,
)
from .cutoff import CutCurve, f1_by_threshold
from .definitions import (
    Definition,
    Query,
    define_rows,
    draft_definitions,
    given_definition,
    improve_definitions,
    read_marked,
    read_queries,
)
from .label_matrix import label_matrix, write_matrix
from .retrieval import DEFAULT_EMBEDDER, EXTRA, Bm25, Dense, Encode, Retriever, load_encoder, words

__all__ = [
    "CONFIDENT",
    "DEFAULT_EMBEDDER",
    "EXTRA",
    "Bm25",
    "CutCurve",
    "Definition",
    "Dense",
    "Encode",
    "Item",
    "Outside",
    "Pair",
    "Query",
    "Retriever",
    "ReviewQueue",
    "SampleEstimates",
    "SamplePlan",
    "define_rows",
    "draft_definitions",
    "estimate_from_sample",
    "f1_by_threshold",
    "given_definition",
    "improve_definitions",
    "label_matrix",
    "load_encoder",
    "pair_dataset",
    "read_marked",
    "read_queries",
    "review_queue",
    "sample_pairs",
    "words",
    "write_matrix",
]
