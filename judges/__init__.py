"""What is asked of a judge, what came back, and how well it agrees with people.

Read in this order: `rows` and `prompt` go into `judge`, which asks through `models` and reads the reply
into a `verdict`; `judged` is the table of both, and `benchmark` measures it.
"""

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
    WorkspaceError,
    WorldError,
)
from .files.reading import load_dataset
from .files.small_file import read_small, read_small_text
from .files.verdicts import load_verdicts
from .judge import JudgeSettings, judge, judge_request
from .judged import BoolArray, FloatArray, IntArray, JudgedDataset
from .metrics import Estimate, influence, point
from .metrics.benchmark import Benchmark, by_column, measure, require_column
from .metrics.paired_comparison import POWER, Change, clustered_se, compare, holm, rows_needed
from .metrics.permutation_test import with_permutation_p
from .models import (
    Client,
    ClientStats,
    Completion,
    Endpoint,
    Message,
    Model,
    Prices,
    Progress,
    Recorded,
    Request,
    estimate_tokens,
)
from .prompt import PLACEHOLDER, Example, JudgePrompt, load_prompt, render
from .registry import Registry, read_prompt, write_beside
from .reply import read_reply, response_format, without_thinking
from .rows import Dataset, Row
from .scale import BINARY, PROBABILITY, DecisionRule, OutputScale, infer_label_scale, parse_label_scale
from .simulated.model import Simulated
from .splits import SealedRows, Shares, Splits, parse_shares, split_dataset
from .verdict import Answer, Unscored, Verdict

__all__ = [
    "BINARY",
    "PLACEHOLDER",
    "POWER",
    "PROBABILITY",
    "Answer",
    "Benchmark",
    "BoolArray",
    "BudgetSpent",
    "Change",
    "Client",
    "ClientStats",
    "Completion",
    "DataError",
    "Dataset",
    "DecisionRule",
    "DivergedError",
    "Endpoint",
    "Estimate",
    "Example",
    "FloatArray",
    "InputError",
    "IntArray",
    "Interrupted",
    "JudgePrompt",
    "JudgeSettings",
    "JudgedDataset",
    "JudgewrightError",
    "LossError",
    "Message",
    "Model",
    "ModelError",
    "OutputScale",
    "Prices",
    "Progress",
    "PromptError",
    "Recorded",
    "Registry",
    "Request",
    "Row",
    "SealedRows",
    "Shares",
    "Simulated",
    "Splits",
    "Unscored",
    "Verdict",
    "WorkspaceError",
    "WorldError",
    "by_column",
    "clustered_se",
    "compare",
    "estimate_tokens",
    "holm",
    "infer_label_scale",
    "influence",
    "judge",
    "judge_request",
    "load_dataset",
    "load_prompt",
    "load_verdicts",
    "measure",
    "parse_label_scale",
    "parse_shares",
    "point",
    "read_prompt",
    "read_reply",
    "read_small",
    "read_small_text",
    "render",
    "require_column",
    "response_format",
    "rows_needed",
    "split_dataset",
    "with_permutation_p",
    "without_thinking",
    "write_beside",
]
