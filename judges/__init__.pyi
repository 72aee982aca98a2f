from .cases import WAYS, Case, CaseBank, Cases, bank_path, read_cases
from .duplicates import Clusters, TextCodes, join_near_duplicates, mix
from .errors import (
    BudgetSpent,
    DataError,
    DivergedError,
    InputError,
    Interrupted,
    JudgewrightError,
    LossError,
    ModelError,
    PromptError,
    UnreachedError,
    Waiting,
    WorkspaceError,
    WorldError,
)
from .example_cases import cases_of_replies
from .files.reading import load_dataset
from .files.small_file import read_small, read_small_text
from .files.verdicts import load_verdicts
from .files.write_beside import write_beside
from .instruction import (
    Filled,
    Instruction,
    Unfilled,
    ask_instruction,
    load_instruction,
    number_lines,
    read_answer,
)
from .judge import VERDICT_LIMIT, JudgeSettings, judge, judge_request
from .judge_together import judge_together
from .judged_arrays import (
    CLASS_METRICS,
    PROBABILITY_METRICS,
    BoolArray,
    FloatArray,
    IntArray,
    JudgedArrays,
)
from .judged_dataset import JudgedDataset, group_codes
from .metrics.benchmark import Benchmark, by_column, measure, require_column
from .metrics.equal_gain import EqualGain, equal_gain
from .metrics.estimate import Estimate
from .metrics.fitted_rule import (
    BetterThreshold,
    Calibrated,
    best_threshold,
    better_threshold,
    calibrate,
    fit_calibration,
    require_labels,
)
from .metrics.influence import influence, point
from .metrics.leaderboard import Leaderboard, rank_judges
from .metrics.paired_comparison import POWER, Change, clustered_se, compare, holm, rows_needed
from .metrics.permutation_test import with_permutation_p
from .models.client import Client
from .models.counters import ClientStats, Progress
from .models.endpoint import Endpoint
from .models.model import Completion, Message, Model, Request
from .models.price import Prices
from .models.recorded import Recorded
from .models.tokens import estimate_tokens
from .notebook_display import FIRST_ROWS, MOST_CHARACTERS, MOST_LINES, html_table
from .plain_cases import SIMILAR, words_of
from .prompt import (
    CRITERIA_PLACE,
    DATA_NOTICE,
    MARKED_PLACES,
    PLACEHOLDER,
    JudgePrompt,
    TextLoader,
    load_prompt,
    read_prompt,
    render,
)
from .registry import KeptRule, Registry, read_rule
from .reply import cut_off, read_reply
from .reply_reading import without_thinking
from .response_format import response_format
from .rows import Dataset, Row, Scalar, hash_rows
from .scale import (
    BINARY,
    LOGIT_EDGE,
    PROBABILITY,
    Calibration,
    DecisionRule,
    Isotonic,
    OutputScale,
    Platt,
    calibration_from_json,
    infer_label_scale,
    parse_label_scale,
    split_class_metric,
)
from .simulated.model import Simulated
from .splits import (
    DEFAULT_SHARES,
    Shares,
    Splits,
    parse_shares,
    split_dataset,
    with_holdout_file,
    with_split_column,
)
from .splits.sealed_rows import SealedRows
from .token_confidence import with_token_confidence
from .verdict import Answer, Unscored, Verdict, apply_rule

__all__ = [
    "BINARY",
    "CLASS_METRICS",
    "CRITERIA_PLACE",
    "DATA_NOTICE",
    "DEFAULT_SHARES",
    "FIRST_ROWS",
    "LOGIT_EDGE",
    "MARKED_PLACES",
    "MOST_CHARACTERS",
    "MOST_LINES",
    "PLACEHOLDER",
    "POWER",
    "PROBABILITY",
    "PROBABILITY_METRICS",
    "SIMILAR",
    "VERDICT_LIMIT",
    "WAYS",
    "Answer",
    "Benchmark",
    "BetterThreshold",
    "BoolArray",
    "BudgetSpent",
    "Calibrated",
    "Calibration",
    "Case",
    "CaseBank",
    "Cases",
    "Change",
    "Client",
    "ClientStats",
    "Clusters",
    "Completion",
    "DataError",
    "Dataset",
    "DecisionRule",
    "DivergedError",
    "Endpoint",
    "EqualGain",
    "Estimate",
    "Filled",
    "FloatArray",
    "InputError",
    "Instruction",
    "IntArray",
    "Interrupted",
    "Isotonic",
    "JudgePrompt",
    "JudgeSettings",
    "JudgedArrays",
    "JudgedDataset",
    "JudgewrightError",
    "KeptRule",
    "Leaderboard",
    "LossError",
    "Message",
    "Model",
    "ModelError",
    "OutputScale",
    "Platt",
    "Prices",
    "Progress",
    "PromptError",
    "Recorded",
    "Registry",
    "Request",
    "Row",
    "Scalar",
    "SealedRows",
    "Shares",
    "Simulated",
    "Splits",
    "TextCodes",
    "TextLoader",
    "Unfilled",
    "UnreachedError",
    "Unscored",
    "Verdict",
    "Waiting",
    "WorkspaceError",
    "WorldError",
    "apply_rule",
    "ask_instruction",
    "bank_path",
    "best_threshold",
    "better_threshold",
    "by_column",
    "calibrate",
    "calibration_from_json",
    "cases_of_replies",
    "clustered_se",
    "compare",
    "cut_off",
    "equal_gain",
    "estimate_tokens",
    "fit_calibration",
    "group_codes",
    "hash_rows",
    "holm",
    "html_table",
    "infer_label_scale",
    "influence",
    "join_near_duplicates",
    "judge",
    "judge_request",
    "judge_together",
    "load_dataset",
    "load_instruction",
    "load_prompt",
    "load_verdicts",
    "measure",
    "mix",
    "number_lines",
    "parse_label_scale",
    "parse_shares",
    "point",
    "rank_judges",
    "read_answer",
    "read_cases",
    "read_prompt",
    "read_reply",
    "read_rule",
    "read_small",
    "read_small_text",
    "render",
    "require_column",
    "require_labels",
    "response_format",
    "rows_needed",
    "split_class_metric",
    "split_dataset",
    "with_holdout_file",
    "with_permutation_p",
    "with_split_column",
    "with_token_confidence",
    "without_thinking",
    "words_of",
    "write_beside",
]
