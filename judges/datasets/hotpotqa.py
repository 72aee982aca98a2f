"""HotpotQA (Yang et al., 2018) for answer relevance: gold answers are positives, other questions'
answers negatives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from ..files.problems import Problems
from ..files.records import Record, read_records, unit_of
from ..rows import Scalar
from .release import as_text, folded_text, require_columns, table_files
from .source import Flat, ReadOptions, Source

_NUMBERS = """one two three four five six seven eight nine ten eleven twelve twenty thirty forty
    fifty hundred thousand million billion""".split()  # noqa: SIM905
_MONTHS = """january february march april may june july august september october november
    december""".split()  # noqa: SIM905
_DRAWS = 50


def read_hotpotqa(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield two rows a question: its gold answer (1) and the answer of another question (0).

    Every second question, in an order drawn by the seed, gets an answer of the same kind as its own
    (yes/no, number, date, entity): a hard negative, `same_kind`; the others get any answer,
    `shuffled`. So the classes are balanced, and so are the kinds of negatives. An answer equal to
    the gold one is never drawn. The file is hotpot_train_v1.1.json, hotpot_dev_distractor_v1.json,
    hotpot_dev_fullwiki_v1.json or the hub's Parquet.

    Raises:
        DataError: A file is not of this release.
    """
    items: list[Flat] = []
    for file in table_files(path):
        problems = Problems(file, unit_of(file))
        for record in read_records(file, problems):
            require_columns(file, ("question", "answer"), record)
            items.append(_item(record))
        problems.check()
    random = Random(options.seed)
    # Drawn before any negative, so that which questions are hard depends on the seed alone.
    hard = set(random.sample(range(len(items)), len(items) // 2))
    pools: defaultdict[Scalar, list[Flat]] = defaultdict(list)
    for item in items:
        pools[item["answer_kind"]].append(item)
    alone = 0
    for position, item in enumerate(items):
        yield item | {"id": f"{item['id']}-gold"}
        negative, kind = None, "same_kind"
        if position in hard:
            negative = _other(item, pools[item["answer_kind"]], random)
            alone += negative is None
        if negative is None:
            negative, kind = _other(item, items, random), "shuffled"
        if negative is not None:
            answer = {name: negative[name] for name in ("answer", "answer_kind")}
            yield item | answer | {"id": f"{item['id']}-{kind}", "label": 0, "negative_kind": kind}
    notes.append(
        "same_kind negatives cannot always be told without the gold answer: report by negative_kind"
    )
    if alone:
        notes.append(f"questions without another answer of their kind, given any other: {alone:,}")


def answer_kind(answer: str) -> str:
    """Return what an answer is by its form: `yes_no`, `date`, `number` or `entity`."""
    words = answer.replace(",", " ").casefold().split()
    digits = any(char.isdigit() for char in answer)
    if words in (["yes"], ["no"]):
        return "yes_no"
    year = words[-1][:4] if words else ""
    if digits and (
        any(month in words for month in _MONTHS)
        or (len(words) <= 2 and "," not in answer and year.isdigit() and len(year) == 4)
    ):
        return "date"
    if answer.strip()[:1].isdigit() or (words and words[0] in _NUMBERS and len(words) <= 4):
        return "number"
    return "entity"


def _item(record: Record) -> Flat:
    """Return a question with its gold answer, as its row has them."""
    fields = record.fields
    answer = as_text(fields["answer"]).strip()
    kind = answer_kind(answer)
    id = f"hotpotqa-{as_text(fields.get('_id') or fields.get('id') or record.at)}"
    return {
        "id": id,
        "dataset": "hotpotqa",
        "group_id": id.replace("-", "_", 1),
        "query": as_text(fields["question"]).strip(),
        "answer": answer,
        "label": 1,
        "negative_kind": None,
        "gold_answer": answer,
        "answer_kind": kind,
        "expected_answer_kind": kind,
        "question_type": as_text(fields.get("type")) or None,
        "level": as_text(fields.get("level")) or None,
    }


def _other(item: Flat, pool: Sequence[Flat], random: Random) -> Flat | None:
    """Draw an item of the pool with another answer; None where there is none."""
    gold = folded_text(item["answer"])
    # Nearly every draw differs; looking through the whole pool each time would take the square of
    # the file.
    for _ in range(_DRAWS):
        drawn = pool[random.randrange(len(pool))]
        if folded_text(drawn["answer"]) != gold:
            return drawn
    others = [other for other in pool if folded_text(other["answer"]) != gold]
    return random.choice(others) if others else None


HOTPOTQA = Source(
    name="hotpotqa",
    about="questions with gold answers (1) and answers of other questions (0), balanced",
    inputs=("query", "answer"),
    judge="answer_relevance",
    licence="CC BY-SA 4.0",
    read=read_hotpotqa,
    hub="hotpotqa/hotpot_qa",
)
