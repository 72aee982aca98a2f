"""A model's reading of a person's prompt: what it quotes is looked up there, and goes before our
own reading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import (
    InputError,
    JudgeSettings,
    Message,
    OutputScale,
    Unfilled,
    ask_instruction,
    load_instruction,
)
from ...judges.models import Client
from ...judges.reply_reading import WORDS_FOR_ONE, WORDS_FOR_ZERO
from ...judges.scale import LOW_PROBABILITY, parse_label_scale
from .bounded import bounded
from .criteria import rules_within
from .foreign_judge import AddOptions, ForeignJudge
from .known_answer import ask_for_threshold, with_threshold
from .placeholders import as_name
from .replaced_marks import name_of_mark, with_marks
from .stated_answer import Question, named_scale
from .understand import Understood, criteria_between, understand
from .which_judge import text_of, the_one

_DECIMAL_ENDS = {"0.0..1.0": "probability", "1.0..0.0": "low-probability"}
_TEXTS = ("unordered", "scale", "threshold", "verdict", "first_words", "last_words", "open")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """What a model says of a prompt, without what does not stand in it; quotations are spelled as
    they stand there.
    """

    places: tuple[str, ...] = ()
    """Where the texts of a row are put, as they stand in the prompt."""
    labels: tuple[str, ...] = ()
    unordered: bool = False
    """Whether none of the labels is better than another."""
    scale: OutputScale | None = None
    threshold: str = ""
    verdict: str = ""
    criteria: str = ""
    """First and last words, as `--criteria` takes them."""
    forms: tuple[str, ...] = ()
    """First words of the sentences that only say in what form to answer."""
    open: str = ""
    """What the prompt leaves open of its answers, in a sentence."""
    unfounded: tuple[str, ...] = ()
    """What it quotes that does not stand in the prompt, or is no scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What is known of a prompt with a model's help."""

    options: AddOptions
    found: Understood
    """The prompt as it is read with these options."""
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    """Where the model reads something else than we did, in whole sentences; its reading is taken.
    """


def reading_messages(judges: Sequence[ForeignJudge]) -> tuple[Message, ...]:
    """Return the messages with which a model is asked to read a prompt, or to tell which of several
    is the judge.
    """
    return load_instruction("read_judge").messages(_shown(judges))


def _shown(judges: Sequence[ForeignJudge]) -> dict[str, str]:
    text = (
        text_of(judges[0])
        if len(judges) == 1
        else "\n\n".join(f"{j.string}:\n{text_of(j)}" for j in judges)
    )
    return {"prompt": text, "beside": judges[0].file or "nothing"}


def ask_for_reading(
    judges: Sequence[ForeignJudge], client: Client, settings: JudgeSettings
) -> tuple[ForeignJudge, ModelReading | str]:
    """Have a model read a prompt; return which of several it read, and why there is no reading
    where it cannot be used.

    Raises:
        InputError: Its reading does not tell which of several prompts is the judge.
    """
    item = _shown(judges)
    text, beside = item["prompt"], judges[0].file
    (answer,) = ask_instruction(load_instruction("read_judge"), [item], client, settings=settings)
    if isinstance(answer, Unfilled):
        return the_one(judges, ()), f"{answer.reason}: {answer.detail}"
    said = {name: answer.text(name).strip() for name in _TEXTS}
    places, labels, forms = (
        tuple(words.strip() for words in answer.texts(name))
        for name in ("places", "labels", "form")
    )
    reading = check_reading(f"{text}\n\n{beside}", _bare(labels), said, forms)
    reading = replace(reading, places=tuple(place for place in places if place in text))
    return _with_places(the_one(judges, reading.criteria.split(" ... ")), reading.places), reading


def _bare(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels without the brackets or quotes that stand round each of them: `A` of `(A)`."""
    inner = [
        re.fullmatch(r"[(\[{<\"'`*]+([^()\[\]{}<>\"'`*]+)[)\]}>\"'`*]+", label) for label in labels
    ]
    return tuple(match[1].strip() for match in inner if match) if all(inner) else labels


def _with_places(judge: ForeignJudge, places: Sequence[str]) -> ForeignJudge:
    """Return a judge with a field in each place of a row's text that its words alone did not show
    as one.
    """
    marks = [place for place in places if name_of_mark(place) and not place.isalnum()]
    messages = tuple(
        replace(message, parts=with_marks(message.parts, marks)) for message in judge.messages
    )
    return judge if messages == judge.messages else replace(judge, messages=messages)


def check_reading(
    text: str, labels: tuple[str, ...], said: Mapping[str, str], forms: tuple[str, ...] = ()
) -> ModelReading:
    """Keep of a model's reading what stands in the prompt.

    Args:
        text: The prompt, and what its file says beside it.
        labels: The worst first.
        said: `unordered`, `scale`, `threshold`, `verdict`, `first_words`, `last_words` and `open`;
            empty where there is nothing to say.
        forms: First words of sentences on the form of the answer.
    """
    stands = {words: _as_it_stands(words, text) for words in (*labels, *said.values())}
    quoted = [*labels, said["threshold"], said["verdict"], said["first_words"], said["last_words"]]
    unfounded = [words for words in quoted if words and not stands[words]]
    scale = None
    try:
        spelled = _DECIMAL_ENDS.get(said["scale"].replace(" ", ""), said["scale"])
        scale = parse_label_scale(spelled) if spelled and not labels else None
    except InputError:
        unfounded.append(said["scale"])
    if any(number not in text for number in re.findall(r"\d+", said["scale"])):
        scale = None
        unfounded.append(said["scale"])
    founded = tuple(stands[label] for label in labels if stands[label])
    whole = len(founded) == len(labels) and len(set(labels)) > 1
    first, last = stands[said["first_words"]], stands[said["last_words"]]
    return ModelReading(
        labels=founded if whole else (),
        unordered=whole and said["unordered"].casefold().startswith("y"),
        scale=scale,
        threshold=stands[said["threshold"]],
        verdict=stands[said["verdict"]],
        criteria=f"{first} ... {last}" if first and last else "",
        forms=tuple(words for form in forms if (words := _as_it_stands(form, text))),
        open=said["open"],
        unfounded=tuple(unfounded),
    )


@bounded()
def settle(judge: ForeignJudge, options: AddOptions, reading: ModelReading) -> Settled:
    """Take the model's reading wherever the person said nothing; what fits neither text nor scale
    is left.

    Where its words alone would have said something else, a note tells so.
    """
    known = options.labels or options.scale or judge.scale
    alone = found = understand(judge, options)
    for read in (_criteria, _answers, _verdict, _threshold):
        try:
            taken = read(found, options, reading)
            if taken is None:
                continue
            after = understand(judge, taken)
        except InputError:
            continue
        if read is _answers or len(after.questions) <= len(found.questions):
            options, found = taken, after
    questions = list(found.questions)
    if unplaced := _threshold_unplaced(found, options, reading):
        questions.append(unplaced)
    questions += _fields_in_doubt(found, options, reading)
    if reading.open and not known and not questions:
        text = (
            f"its answers are not clear, as the model says: {reading.open} (--labels, worst first,"
            " or --scale)"
        )
        questions.append(Question("scale", text))
    ours, theirs = _answer_of(alone), _answer_of(found)
    notes: list[str] = []
    if ours and theirs and ours != theirs:
        notes.append(
            f"Its words alone would say {ours}; the model reads {theirs}, and that is taken."
        )
    elif alone.scale and theirs and _of_words_alone(alone) and not reading.threshold:
        notes.append(
            f"The model reads no words on which answers pass: {theirs}; --threshold says another."
        )
    elif options.choice and theirs and not ours:
        notes.append(
            f"The model reads {theirs} as labels of which none is better; --labels and --threshold"
            " say others."
        )
    return Settled(options=options, found=found, questions=tuple(questions), notes=tuple(notes))


def _fields_in_doubt(
    found: Understood, options: AddOptions, reading: ModelReading
) -> list[Question]:
    """Ask about each field that the model does not take for a place of a row's text."""
    places = {as_name(place) for place in reading.places}
    settled = {*options.fills, *options.fields}
    names = [
        name
        for name in found.fields
        if places and name not in settled and as_name(name) not in places
    ]
    text = (
        "is {0} a text of each row (--field {0}={1})? The model takes it for one that the file"
        " fills (--fill {0}=TEXT)"
    )
    return [
        Question("fill", text.format(name, found.fields[name]), (name, found.fields[name]))
        for name in names
    ]


def _criteria(found: Understood, options: AddOptions, reading: ModelReading) -> AddOptions | None:
    if options.criteria is not None or not reading.criteria:
        return None
    named = criteria_between(found.text, reading.criteria)
    forms = [at for words in reading.forms if (at := found.text.find(words)) >= 0]
    rules = rules_within(found.text, found.units, named, forms)
    if rules is None:
        return None
    words = found.text[rules.start : rules.end].strip()
    same = words == found.text[named.start : named.end]
    return replace(options, criteria=reading.criteria if same else words)


def _answers(found: Understood, options: AddOptions, reading: ModelReading) -> AddOptions | None:
    if options.labels or options.scale or options.choice:
        return None
    scale = found.scale
    if reading.labels and reading.unordered:
        return replace(options, labels=reading.labels, choice=True)
    if reading.labels and (scale is None or _folded(scale.labels) != _folded(reading.labels)):
        if (
            scale is not None
            and scale.kind == "binary"
            and not scale.labels
            and _plain(reading.labels)
        ):
            return None
        taken, read = replace(options, labels=reading.labels), named_scale(reading.labels)
    elif (read := _between(reading.scale, found)) is not None and (
        scale is None or _differ(scale, read)
    ):
        taken = replace(options, scale=read, threshold_open=True)
    else:
        return None
    return (
        taken
        if taken.threshold is not None
        else replace(taken, threshold=_on_scale(reading.threshold, read))
    )


def _between(read: OutputScale | None, found: Understood) -> OutputScale | None:
    """Return the scale that a model reads; of 1..0 all that lies between, where the words say that
    it does.
    """
    of_ends = any(question.of_ends for question in found.questions)
    probable = found.scale.kind == "probability" if found.scale else of_ends
    return LOW_PROBABILITY if read and read.labels == ("1", "0") and probable else read


def _verdict(found: Understood, options: AddOptions, reading: ModelReading) -> AddOptions | None:
    if options.verdict is not None or not reading.verdict:
        return None
    asked = any(question.option == "verdict" for question in found.questions)
    mark = found.prompt.reply_mark if found.prompt and not found.prompt.reply_schema else ""
    beside_word = mark.endswith(": ...") or mark in ("last line", "start")
    return replace(options, verdict=reading.verdict) if asked or beside_word else None


def _threshold(found: Understood, options: AddOptions, reading: ModelReading) -> AddOptions | None:
    if options.threshold is not None or options.choice or found.scale is None:
        return None
    if reading.criteria and not reading.threshold and not reading.open and _of_words_alone(found):
        return replace(options, threshold=found.scale.name(found.scale.threshold))
    threshold = _on_scale(reading.threshold, found.scale)
    if (
        threshold is None
        or with_threshold(found.scale, replace(options, threshold=threshold)) == found.scale
    ):
        asked = any(question.option == "threshold" for question in found.questions)
        return replace(options, threshold=threshold) if threshold and asked else None
    return replace(options, threshold=threshold)


def _of_words_alone(found: Understood) -> bool:
    """Whether words of the prompt, and not its code, are all that leaves open what passes."""
    asked = [question for question in found.questions if question.option == "threshold"]
    return bool(asked) and all(
        question.words and question.words in found.text for question in asked
    )


def _on_scale(words: str, scale: OutputScale) -> str | None:
    """Return the one label or number of a scale that words name, unless all answers would pass
    then.
    """
    if scale.labels:
        pattern = "|".join(map(re.escape, sorted(scale.labels, key=len, reverse=True)))
        named = {
            match.casefold()
            for match in re.findall(rf"(?<!\w)(?:{pattern})(?!\w)", words, re.IGNORECASE)
        }
        placed = [label for label in scale.labels if label.casefold() in named]
        worst = scale.labels[0]
    else:
        numbers = (number.replace(",", ".") for number in re.findall(r"\d+(?:[.,]\d+)?", words))
        placed = [number for number in numbers if scale.contains(float(number))]
        worst, _ = _ends(scale)
    return placed[0] if len(placed) == 1 and placed[0] != worst else None


def _threshold_unplaced(
    found: Understood, options: AddOptions, reading: ModelReading
) -> Question | None:
    """Ask for the threshold where what the model reads is no grade of the scale, or lets every
    answer pass.
    """
    scale = found.scale
    told = options.threshold or (options.scale and not options.threshold_open)
    asked = any(question.option == "threshold" for question in found.questions)
    if told or asked or not reading.threshold or scale is None or scale.kind == "choice":
        return None
    if (scale.kind == "binary" and not scale.labels) or _on_scale(reading.threshold, scale):
        return None
    return ask_for_threshold(reading.threshold, scale.labels)


def _answer_of(found: Understood) -> str:
    """Say the answers of a prompt and what passes, the worst first; empty where they are open."""
    scale = found.scale
    if scale is None or found.questions:
        return ""
    passing = scale.labels[int(scale.threshold)] if scale.labels else scale.name(scale.threshold)
    answers = ", ".join(scale.labels) or "..".join(_ends(scale))
    return answers if scale.kind == "choice" else f"{answers} (passing from {passing})"


def _plain(labels: tuple[str, ...]) -> bool:
    """Whether two labels are no and yes in words of which JSON has its own."""
    return labels[0].lower() in WORDS_FOR_ZERO and labels[-1].lower() in WORDS_FOR_ONE


def _differ(ours: OutputScale, theirs: OutputScale) -> bool:
    """Whether a scale that the model reads is another than ours; 0 and 1 may be the ends of all
    that lies between.
    """
    between = theirs.kind == "probability" and ours.kind != "probability"
    return between or _ends(ours) != _ends(theirs)


def _ends(scale: OutputScale) -> tuple[str, str]:
    """Return the worst and the best answer of a scale."""
    if scale.kind == "probability":
        return ("1", "0") if scale.low_is_good else ("0", "1")
    return (
        (scale.labels[0], scale.labels[-1]) if scale.labels else (str(scale.low), str(scale.high))
    )


def _folded(labels: tuple[str, ...]) -> list[str]:
    return [label.casefold() for label in labels]


def _as_it_stands(words: str, text: str) -> str:
    """Return words as a text spells them, whatever its line breaks and capitals; empty where it
    does not have them.
    """
    if not words.strip() or words in text:
        return words.strip()
    found = re.search(r"\s+".join(map(re.escape, words.split())), text, re.IGNORECASE)
    return found.group() if found else ""
