"""One clause of an objective, read by fixed rules: every word of it is understood, or none.

Each reader below takes the symbols of the clause's words (`lexicon.py`) and returns None where it
is not its kind of clause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...judges.metrics.catalog import LOWER_IS_BETTER
from .class_names import OF_ONE, OVERALL, ClassNames
from .clause import NO_POLARITY, Clause, NotRead, Order, Wish, order_of, share_of
from .confidence_clauses import OF_PROBABILITIES, read_confidence
from .lexicon import BRIER, Token
from .objective import OWN_DIRECTION, Direction, Floor
from .polarity import Polarity
from .said_clauses import commands, in_classes, said_wrongly

_VERBS = "CGJKOD"
_NAMING = ("call", "label", "mark", "count", "classif", "judg", "nenn", "genannt")
"""Verbs behind which people's class comes first, in English and German."""
_SENDING = ("envo", "envi", "mand", "invi", "smist", "dirig", "encaminh", "direcion")
"""Verbs whose `to`, one letter in Romance languages, is no word of its own here."""
_CLASSES = "PN+-@"
OF_ERRORS: Mapping[Direction, str] = {"fp": "precision", "fn": "recall"}


def read_clause(clause: list[Token], polarity: Polarity | ClassNames | None) -> Clause:
    """Read one clause, every word of it.

    Raises:
        NotRead: Some of it is not understood.
    """
    marks = "".join(token.symbol for token in clause)
    if "?" in marks or "!" in marks or ("~" in marks):
        raise NotRead
    if "U" in marks:
        raise NotRead(f"the gate cannot compare this figure; {OF_PROBABILITIES}")
    if "a" in marks:
        return _abstentions(marks)
    if set(marks) & set("cphv") or any(token.metric == BRIER for token in clause):
        if isinstance(polarity, ClassNames):
            raise NotRead("a judge that chooses among classes has no probability of a positive one")
        if (found := read_confidence(clause)) is not None:
            return found
        if "M" not in marks:
            raise NotRead(OF_PROBABILITIES)
        clause = [
            token for token in clause if token.symbol != "p"
        ]  # "the calibration of its confidence"
        marks = "".join(token.symbol for token in clause)
    if isinstance(polarity, ClassNames):
        found = _class_complaint(clause, marks)
        if found is not None:
            return found
        clause = [token for token in clause if token.symbol not in "dm"]
        marks = "".join(token.symbol for token in clause)
    for read in (_amount_alone, _floor, _guard, _metric_wish):
        found = read(clause, marks.replace("H", ""), polarity)
        if found is not None:
            return found
    found = None if isinstance(polarity, ClassNames) else _complaint(clause, marks, polarity)
    if found is None:
        raise NotRead
    return found


def _abstentions(marks: str) -> Clause:
    if set(marks) <= set("aYX"):
        notes = [
            "rows without a verdict are unscored: they enter no mean and no loss, and their share"
            " is reported"
        ]
        return Clause(notes=notes)
    if set(marks) <= set("aeCSRNX"):
        note = (
            "abstentions are not charged as errors: the gate refuses to decide where too many are"
            " unscored"
        )
        return Clause(notes=[note])
    raise NotRead


def _amount_alone(
    clause: list[Token], marks: str, polarity: Polarity | ClassNames | None
) -> Clause | None:
    """Read `but not more than a tenth`."""
    del polarity
    if marks in ("Q#", "Xq#"):
        return Clause(amount=share_of(clause[-1]))
    return None


def _floor(
    clause: list[Token], marks: str, polarity: Polarity | ClassNames | None
) -> Clause | None:
    """Read `at least 90 % precision`, `recall must not fall below 0.8`."""
    if not set(marks) <= set("MZz#VXWBRw12" + _CLASSES) or marks.count("#") != 1:
        return None
    negated = marks.count("X") + marks.count("W")
    at_least = "Z" in marks and not negated and "z" not in marks and "B" not in marks
    not_below = "z" in marks and negated == 1 and "Z" not in marks and "R" not in marks
    if not at_least and not not_below:
        return None
    metric = _class_metric(clause, polarity)
    token = next(token for token in clause if token.symbol == "#")
    value = share_of(token)
    if metric in LOWER_IS_BETTER:
        raise NotRead(
            "the Brier score, by which calibration is compared, is better low and has no floor"
        )
    if token.unit == "points" or not 0.0 < value < 1.0:
        raise NotRead("a floor is a share such as 90 % or 0.9")
    found = Clause(floors=[Floor(metric=metric, value=value)])
    if "R" in marks:
        found.wishes.append(Wish(metric=metric, direction=OWN_DIRECTION.get(metric), named=True))
    return found


def _guard(
    clause: list[Token], marks: str, polarity: Polarity | ClassNames | None
) -> Clause | None:
    """Read `lose at most 3 points of recall`, `keep recall`, `without hurting precision`."""
    if not set(marks) <= set("MBVQqXWwLY#&" + _CLASSES) or marks.count("#") > 1 or "M" not in marks:
        return None
    counts = Counter(marks)
    negated, bounded = counts["X"] + counts["W"], "Q" in marks
    if negated > 1 or counts["B"] + counts["V"] > 1 or (bounded and "q" in marks):
        return None
    if "#" in marks and not (
        bounded or "q" in marks or ("B" in marks and (negated or "w" in marks or "Y" in marks))
    ):
        return None
    if (bounded or "q" in marks) and "#" not in marks:
        return None
    allowed = ("w" in marks or "Y" in marks) and "#" in marks and "q" not in marks
    if "Y" in marks and not allowed:
        return None
    loses = (
        "B" in marks
        and (negated + bounded == 1 or (allowed and not negated))
        and ("q" not in marks or negated)
    )
    keeps = "V" in marks and not negated and "q" not in marks
    within = (
        not {"B", "V"} & set(marks)
        and bounded
        and not negated
        and "w" not in marks
        and "L" in marks
    )
    if not loses and not keeps and not within:
        return None
    amount = next((share_of(token) for token in clause if token.symbol == "#"), None)
    if amount is not None and not 0.0 <= amount < 1.0:
        raise NotRead("a loss is a share such as 3 points or 0.03")
    named = [token for token in clause if token.symbol == "M"]
    if len(named) == 1:
        return Clause(guards=[(_class_metric(clause, polarity), amount)])
    if set(marks) & set(_CLASSES):
        return None
    return Clause(guards=[(_class_metric([token], polarity), amount) for token in named])


def _metric_wish(
    clause: list[Token], marks: str, polarity: Polarity | ClassNames | None
) -> Clause | None:
    """Read `raise precision`, `hallucination recall first`, `precision matters more than recall`,
    `recall is fine`.
    """
    if "Y" in marks:
        return Clause() if marks.count("M") == 1 and set(marks) <= set("MY12") else None
    if set(marks) <= set("M>1R") and marks.count("M") == 2 and marks.count(">") == 1:
        first, second = (token for token in clause if token.symbol == "M")
        if (
            marks.index(">") < marks.rindex("M")
            and marks.index("M") < marks.index(">")
            and first.metric != second.metric
        ):
            metric = _class_metric([first], polarity)
            return Clause(
                wishes=[Wish(metric=metric, direction=OWN_DIRECTION.get(metric), named=True)]
            )
        return None
    if marks.count("M") != 1 or not set(marks) <= set("MR12Io" + _CLASSES):
        return None
    metric = _class_metric(clause, polarity)
    wish = Wish(
        metric=metric, direction=OWN_DIRECTION.get(metric), named=True, order=order_of(marks)
    )
    return Clause(wishes=[wish])


def _class_metric(clause: list[Token], polarity: Polarity | ClassNames | None) -> str:
    """Return the metric of a clause that names one, of the class that it names beside it.

    Raises:
        NotRead: It names several, or one that the gate does not have.
    """
    metrics = [token.metric for token in clause if token.symbol == "M"]
    classes = [token for token in clause if token.symbol in _CLASSES]
    if len(metrics) != 1 or len(classes) > 1:
        raise NotRead
    if isinstance(polarity, ClassNames):
        if classes and classes[0].symbol == "@" and metrics[0] in OF_ONE:
            return f"{metrics[0]}[{classes[0].metric}]"
        if classes or metrics[0] not in (*OVERALL, *OVERALL.values()):
            raise NotRead(f"{metrics[0]} of which class?" if metrics[0] in OF_ONE else "")
        return OVERALL.get(metrics[0], metrics[0])
    if not classes:
        return metrics[0]
    if metrics[0] not in ("precision", "recall"):
        raise NotRead(f"{metrics[0]} is of both classes")
    if _is_positive(classes[0], polarity):
        return metrics[0]
    if metrics[0] == "recall":
        return "specificity"
    raise NotRead(
        "the gate has no precision of the judge's negative class; its recall is specificity"
    )


def _is_positive(token: Token, polarity: Polarity | None) -> bool:
    """Return whether a class word names the judge's positive class.

    Raises:
        NotRead: The judge does not say.
    """
    if token.symbol in "+-":
        return token.symbol == "+"
    if polarity is None:
        raise NotRead(NO_POLARITY)
    return (token.symbol == "P") == (polarity.positive == "good")


def _missed(positive: bool, *, by_class: bool, order: Order) -> Clause:
    """Return the wish that fewer rows of a class are given to the other.

    Args:
        positive: Whether people put them into the judge's positive class.
        by_class: Whether the wish is that class's recall, rather than the purity of the other.
        order: Of the wish.
    """
    if positive:
        return Clause(wishes=[Wish(metric="recall", direction="fn", named=False, order=order)])
    metric = "specificity" if by_class else "precision"
    return Clause(wishes=[Wish(metric=metric, direction="fp", named=False, order=order)])


def _complaint(clause: list[Token], marks: str, polarity: Polarity | None) -> Clause | None:
    """Read which rows are given the wrong class: `do not call unsupported statements grounded`."""
    order = order_of(marks)
    plain = [token for token in clause if token.symbol not in "12"]
    marks = "".join(token.symbol for token in plain)
    bare = marks.replace("H", "")
    if bare in ("t", "s"):
        # Lenient: something bad is called good.
        bad_is_missed = bare == "t"
        if polarity is None:
            raise NotRead(NO_POLARITY)
        return _missed(bad_is_missed == (polarity.positive == "bad"), by_class=False, order=order)
    if bare in ("OY", "YO"):
        return Clause(missing_is_fine=True)
    if set(marks) & set("yn"):
        if (error := said_wrongly(plain, marks)) is not None:
            return _fewer(error)
        plain = in_classes(plain, polarity)
        marks = "".join(token.symbol for token in plain)
        bare = marks.replace("H", "")
    if "u" in marks:
        if not set(marks) & set(_CLASSES):
            return _everything(plain, bare, polarity)
        plain = [token for token in plain if token.symbol != "u"]  # "anything that is unsupported"
        marks, bare = marks.replace("u", ""), bare.replace("u", "")
    if not set(marks) <= set("CSHGJKODXTLRFEAeBo" + _CLASSES):
        return None
    verbs = {mark for mark in marks if mark in _VERBS}
    kinds = {mark for mark in marks if mark in "FEAe"}
    classes = [i for i, token in enumerate(plain) if token.symbol in _CLASSES]
    if len(verbs) > 1 or len(kinds) > 1 or marks.count("X") > 1:
        return None
    unwanted = bool(set(marks) & set("XTL"))
    if "B" in marks and (verbs or not kinds):
        return None
    if not verbs:
        return _kind_of_error(plain, bare, polarity, order)
    (verb,) = verbs
    if verb in "CG" and len(classes) == 2:
        return _two_classes(plain, marks, classes, polarity, order)
    if len(classes) != 1 or ("S" in marks and verb != "C"):
        return None
    token = plain[classes[0]]
    is_bad = _names_bad(token, polarity)
    positive = _is_positive(token, polarity)
    # "Accept wrong answers" is no complaint, "it accepts wrong answers" is one.
    commanded = marks[0] == verb and not unwanted and commands(plain[0])
    if verb == "C":
        # "Too much is marked as supported": rows of the other class are given this one.
        if "S" in marks and ("T" in marks or "X" in marks) and "R" not in marks and not kinds:
            return _missed(not positive, by_class=False, order=order)
        return None
    if verb == "D":
        return None if unwanted or kinds else _missed(positive, by_class=True, order=order)
    if verb == "O":
        return None if "R" in marks or commanded else _missed(positive, by_class=True, order=order)
    # To pass is to call good, to flag or to fail is to call bad.
    calls_good = verb == "J"
    if calls_good == is_bad:  # a row is given the wrong class
        return None if "R" in marks or commanded else _missed(positive, by_class=False, order=order)
    return (
        None if unwanted or kinds or "H" in marks else _missed(positive, by_class=True, order=order)
    )


def _class_complaint(clause: list[Token], marks: str) -> Clause | None:
    """Read which rows are given which wrong class: `orders must not be called support`, `never miss
    a staff row`.
    """
    order = order_of(marks)
    plain = [token for token in clause if token.symbol not in "12"]
    marks = "".join(token.symbol for token in plain)
    verbs = [i for i, mark in enumerate(marks) if mark in "CrODB"]
    classes = [i for i, mark in enumerate(marks) if mark == "@"]
    if not set(marks) <= set("CrODBXTLSdomw@") or len(verbs) != 1 or len(classes) not in (1, 2):
        return None
    at, verb = verbs[0], marks[verbs[0]]
    negated = "X" in marks or "L" in marks
    # "Orders should be called support" is a wish and no complaint, and so is "call orders support".
    commanded = (
        not set(marks) & set("XTL")
        and at < classes[0]
        and not plain[at].word.endswith(("s", "ed", "ing"))
    )
    if (
        (commanded and verb != "D")
        or (set(marks) & set("mw") and not negated)
        or marks.count("X") > 1
    ):
        return None
    if len(classes) == 1:
        metric = _of_one_class(marks, verb, at, classes[0])
    else:
        metric = _of_two_classes(plain, marks, at, classes)
    if metric is None:
        return None
    name = plain[metric[1]].metric
    return Clause(
        wishes=[Wish(metric=f"{metric[0]}[{name}]", direction=None, named=True, order=order)]
    )


def _of_one_class(marks: str, verb: str, at: int, place: int) -> tuple[str, int] | None:
    """Return the metric of the one class that a complaint names, and the class's place."""
    if verb == "O" or (verb == "B" and "X" in marks and "L" not in marks):
        return ("recall", place)
    if verb == "D":
        return None if set(marks) & set("XTL") else ("recall", place)
    # "Too many rows are called orders": what is called so is not.
    called = at < place or marks[place - 1 : place] in ("S", "d")
    if verb in "Cr" and "T" in marks and called and marks[place - 1 : place] != "T":
        return ("precision", place)
    return None


def _of_two_classes(
    plain: list[Token], marks: str, at: int, classes: list[int]
) -> tuple[str, int] | None:
    """Return recall and the place of people's class, where a complaint says which of two classes is
    the judge's.
    """
    if marks[at] not in "Cr":
        return None
    first, second = classes
    behind = [marks[place - 1 : place] in ("S", "d") for place in classes]
    if all(behind):
        return None
    if any(behind):
        return ("recall", second if behind[0] else first)
    # Without a word such as `as` the order decides, where the language has one.
    passive = first < at < second
    if marks[at] == "C" and (passive or plain[at].word.startswith(_NAMING)):
        return ("recall", first)
    if marks[at] == "r" and passive and plain[at].word.startswith(_SENDING):
        return ("recall", first)
    return None


def _names_bad(token: Token, polarity: Polarity | None) -> bool:
    if token.symbol in "PN":
        return token.symbol == "N"
    if polarity is None:
        raise NotRead(NO_POLARITY)
    return (token.symbol == "+") == (polarity.positive == "bad")


def _two_classes(
    plain: list[Token], marks: str, classes: list[int], polarity: Polarity | None, order: Order
) -> Clause | None:
    """Read `unsupported statements are called supported`, in either order of the two classes."""
    if "R" in marks or (marks[0] in "CG" and not set(marks) & set("XTL") and commands(plain[0])):
        return None
    first, second = (plain[i] for i in classes)
    if _is_positive(first, polarity) == _is_positive(second, polarity):
        return None
    before = [marks[i - 1] if i else "" for i in classes]
    # "Mark as supported what is not": the class behind `as` is the judge's, the one behind `what`
    # is people's.
    swapped = before[0] == "S" or before[1] == "H"
    straight = before[1] == "S" or before[0] == "H"
    if swapped and straight:
        return None
    truth = second if swapped else first
    return _missed(_is_positive(truth, polarity), by_class=False, order=order)


def _kind_of_error(
    plain: list[Token], bare: str, polarity: Polarity | None, order: Order
) -> Clause | None:
    """Read false positives, false negatives, false alarms and errors, of a class or as such."""
    kind = next((mark for mark in bare if mark in "FEAe"), None)
    classes = [token for token in plain if token.symbol in _CLASSES]
    if kind is None or "R" in bare or "S" in bare or len(classes) > 1:
        return None
    if kind == "e" and not classes:
        return (
            Clause(wishes=[Wish(metric="accuracy", direction=None, named=True, order=order)])
            if "o" not in bare
            else None
        )
    if classes:
        at = plain.index(classes[0])
        behind_on = at > 0 and plain[at - 1].symbol == "o"
        if kind == "A" and _names_bad(classes[0], polarity):
            return None
        if not behind_on and kind in "FA":
            return None
        return _missed(_is_positive(classes[0], polarity), by_class=True, order=order)
    if "o" in bare:
        return None
    if polarity is not None and polarity.positive == "bad":
        return _fewer("fn" if kind == "E" else "fp")
    return Clause(errors=kind)


def _fewer(direction: Direction) -> Clause:
    """Return the wish for fewer of the judge's false positives or false negatives."""
    return Clause(wishes=[Wish(metric=OF_ERRORS[direction], direction=direction, named=False)])


def _everything(plain: list[Token], bare: str, polarity: Polarity | None) -> Clause | None:
    """Read `it accepts everything`: rows of the other class are among it."""
    if bare not in ("Ju", "JuJ", "Ku", "Gu") or commands(plain[0]):
        return None
    if polarity is None:
        raise NotRead(NO_POLARITY)
    bad_is_missed = bare[0] == "J"
    return _missed(bad_is_missed == (polarity.positive == "bad"), by_class=False, order="")
