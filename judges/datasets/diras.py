"""ChatReportRetrieve, the data of DIRAS (Ni et al., 2024): questions, relevance definitions, report
paragraphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..files.problems import shorten
from ..files.records import name_of
from .release import as_text, folded_text, group_of, read_tables
from .source import Flat, ReadOptions, Source

_COLUMNS = ("Questions", "Background", "Paragraphs", "gold")
_FLAGS = {"1": 1, "1.0": 1, "true": 1, "0": 0, "0.0": 0, "false": 0}
_OPTIONAL = ("annotation_1", "annotation_2", "meta_annotation", "gpt4_guess", "gpt4_confidence")


def read_diras(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each question and paragraph, labelled 1 (yes), 0.5 (partially) or 0 (no).

    `uncertain` is the release's `hard`: the annotators differed or doubted. A question is a group.
    The file is chatreport_test.csv.

    Raises:
        DataError: A file is not of this release, or a gold label is none of the three.
    """
    for file, record, problems in read_tables(path, _COLUMNS):
        fields = record.fields
        gold = folded_text(fields["gold"])
        label = 0.5 if gold.startswith("partial") else {"yes": 1, "no": 0}.get(gold)
        if label is None:
            strange = shorten(fields["gold"])
            problems.add(record.at, f"field 'gold': {strange} is none of yes, partially, no")
            continue
        question = as_text(fields["Questions"]).strip()
        row: Flat = {
            "id": f"{name_of(file)}-{record.at}",
            "dataset": "diras_chatreport",
            "group_id": group_of("diras", question),
            "question": question,
            "relevance_definition": as_text(fields["Background"]).strip(),
            "paragraph": as_text(fields["Paragraphs"]).strip(),
            "label": label,
            "label_text": gold,
            "uncertain": _FLAGS.get(folded_text(fields.get("hard"))),
            "annotators_agree": None,
        }
        first, second = (folded_text(fields.get(f"annotation_{number}")) for number in (1, 2))
        if first and second:
            row["annotators_agree"] = first == second
        for name in _OPTIONAL:
            if name in fields:
                value = fields[name]
                row[name] = folded_text(value) or None if isinstance(value, str) else value
        yield row


DIRAS = Source(
    name="diras",
    about="questions with relevance definitions on report paragraphs, 0, .5, 1",
    inputs=("question", "relevance_definition", "paragraph"),
    judge="diras",
    licence="the repository states MIT; the paragraphs come from companies' reports",
    read=read_diras,
)
