"""One line a metric, for reports and help: what it is, its range, and which way is good."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import InputError

MEANINGS: Mapping[str, str] = {
    "precision": "share of the judge's positives that people call positive; 0..1, higher is better",
    "recall": "share of people's positives that the judge finds; 0..1, higher is better",
    "specificity": "share of people's negatives that the judge leaves negative; 0..1, higher is better",
    "f1": "harmonic mean of precision and recall; 0..1, higher is better",
    "accuracy": "share of rows on which judge and people decide alike; 0..1, higher is better",
    "balanced_accuracy": "mean of recall and specificity, 0.5 for guessing; 0..1, higher is better",
    "mcc": "correlation of decisions and labels (Matthews), 0 for guessing; -1..1, higher is better",
    "kappa": "agreement beyond chance at the threshold (Cohen), 0 for chance; -1..1, higher is better",
    "kappa_grades": "agreement beyond chance on the exact grade or class (Cohen); -1..1, higher is better",
    "kappa_linear": "agreement beyond chance, a miss weighing its distance in grades; -1..1, higher is better",
    "kappa_quadratic": "agreement beyond chance, a miss weighing its squared distance; -1..1, higher is better",
    "off_by_one": "share of rows graded at most one step from people; 0..1, higher is better",
    "mae": "mean distance from people's grade, in grades; 0 and up, lower is better",
    "accuracy_grades": "share of rows for which the judge chose people's class; 0..1, higher is better",
    "f1_macro_grades": "unweighted mean of every grade's or class's F1; 0..1, higher is better",
    "krippendorff_alpha": "agreement beyond chance, ordinal on shared grades or nominal; at most 1, higher is better",
    "auroc": "chance that a positive row gets a higher probability than a negative, 0.5 for guessing; 0..1, higher is "
    "better",
    "average_precision": "precision averaged over recall as the probability's threshold falls; 0..1, higher is better",
    "brier": "mean squared error of the probability; 0..1, lower is better",
    "ece": "mean gap of probability and observed share, over ten bins; 0..1, lower is better",
    "pearson": "linear correlation of scores and labels; -1..1, higher is better",
    "spearman": "correlation of the ranks of scores and labels; -1..1, higher is better",
    "kendall_tau": "concordant less discordant pairs of rows, ties left out (tau-b); -1..1, higher is better",
    "map": "mean over queries of the precision at each relevant document; 0..1, higher is better",
    "precision_macro": "unweighted mean of precision over the values of a column; 0..1, higher is better",
    "recall_macro": "unweighted mean of recall over the values of a column; 0..1, higher is better",
    "f1_macro": "unweighted mean of F1 over the values of a column; 0..1, higher is better",
    "balanced_accuracy_macro": "unweighted mean of balanced accuracy over the values of a column; 0..1, higher is "
    "better",
    "kappa_macro": "unweighted mean of kappa over the values of a column; -1..1, higher is better",
    "anls": "nearness to the gold answer by edit distance, 0 under one half; 0..1, higher is better",
    "uncertainty_ap": "how well low confidence points at rows that people found hard (average precision); 0..1, higher "
    "is better",
    "diras_binary": "F1 of the decision, as DIRAS groups it; 0..1, higher is better",
    "diras_calibration": "mean of AUROC of confidence, 1 - ECE and 1 - Brier; 0..1, higher is better",
    "diras_ranking": "mean of nDCG and MAP over queries, by probability; 0..1, higher is better",
    "diras_uncertainty": "average precision of 1 - confidence on rows people found hard; 0..1, higher is better",
    "diras_mean": "mean of the four DIRAS groups; 0..1, higher is better",
}
"""By name; metrics of the first k documents stand in `MEANINGS_AT`."""

MEANINGS_AT: Mapping[str, str] = {
    "ndcg": "discounted gain of the first {k} documents over the best possible, gain the grade; 0..1, higher is better",
    "ndcg_exp": "discounted gain of the first {k} documents over the best possible, gain 2^grade - 1; 0..1, higher is "
    "better",
}
"""By the part of the name before @; `{k}` stands for the part behind."""

LOWER_IS_BETTER = frozenset({"mae", "brier", "ece"})


def is_metric(name: str) -> bool:
    """Say whether `score` knows a metric of this name."""
    kind, _, cutoff = name.partition("@")
    return name in MEANINGS or (kind in MEANINGS_AT and cutoff.isdecimal())


def metric_meaning(name: str) -> str:
    """Say in one line what a metric is, its range, and which way is good.

    Raises:
        InputError: No metric has this name.
    """
    kind, _, cutoff = name.partition("@")
    if cutoff.isdigit() and kind in MEANINGS_AT:
        return MEANINGS_AT[kind].format(k=int(cutoff))
    if name not in MEANINGS:
        known = ", ".join((*MEANINGS, *(f"{each}@k" for each in MEANINGS_AT)))
        raise InputError(f"no metric is called {name!r}", hint=f"the metrics are {known}")
    return MEANINGS[name]
