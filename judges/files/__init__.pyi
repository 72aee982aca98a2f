from .audited_labels import Finding, read_audit, with_audited_labels
from .check import KINDS, DataReport, check_rows
from .check_tokens import COUNTED, TokenSummary, count_row_tokens
from .column_guess import (
    ColumnGuess,
    ColumnReading,
    GuessedColumns,
    UnclearColumnsError,
    guess_columns,
    read_columns,
)
from .column_names import near_names
from .columns import Draft, Roles, read_table, words_of
from .groups import NO_GROUP, group_by_text
from .label_words import WORDS, number_of, read_grade, write_grade_map
from .problems import Problems
from .raw_rows import (
    RawRoles,
    RawRows,
    guess_label,
    infer_raw_scale,
    judge_inputs,
    mapped_words,
    read_raw_rows,
)
from .reading import load_as_said, load_dataset
from .records import Cell, parquet_sizes, read_objects, read_records
from .rows_in_memory import RowsInMemory, RowSource, kind_of, name_of, rows_in_memory, unit_of
from .small_file import read_small, read_small_text
from .verdict_columns import GROUP_COLUMNS, RATIONALE, VerdictColumns
from .verdict_items import Aggregate
from .verdict_scale import GradeMap, infer_scale, parse_grade_map, words_for
from .verdict_stream import STREAMED, can_stream, stream_verdicts
from .verdicts import load_judges, load_verdicts

__all__ = [
    "COUNTED",
    "GROUP_COLUMNS",
    "KINDS",
    "NO_GROUP",
    "RATIONALE",
    "STREAMED",
    "WORDS",
    "Aggregate",
    "Cell",
    "ColumnGuess",
    "ColumnReading",
    "DataReport",
    "Draft",
    "Finding",
    "GradeMap",
    "GuessedColumns",
    "Problems",
    "RawRoles",
    "RawRows",
    "Roles",
    "RowSource",
    "RowsInMemory",
    "TokenSummary",
    "UnclearColumnsError",
    "VerdictColumns",
    "can_stream",
    "check_rows",
    "count_row_tokens",
    "group_by_text",
    "guess_columns",
    "guess_label",
    "infer_raw_scale",
    "infer_scale",
    "judge_inputs",
    "kind_of",
    "load_as_said",
    "load_dataset",
    "load_judges",
    "load_verdicts",
    "mapped_words",
    "name_of",
    "near_names",
    "number_of",
    "parquet_sizes",
    "parse_grade_map",
    "read_audit",
    "read_columns",
    "read_grade",
    "read_objects",
    "read_raw_rows",
    "read_records",
    "read_small",
    "read_small_text",
    "read_table",
    "rows_in_memory",
    "stream_verdicts",
    "unit_of",
    "with_audited_labels",
    "words_for",
    "words_of",
    "write_grade_map",
]
