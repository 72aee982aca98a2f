"""Two texts by word: nothing is lost, words stay whole, and a prompt's parts are told apart."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import Case, CaseBank, Cases, Registry
from judgewright.optimize import Piece, diff_prompts, diff_words, prompt_parts
from judgewright.optimize.word_diff import LISTED

PROMPT = Registry().get("groundedness")
TEXT = st.lists(
    st.sampled_from(
        [
            "a",
            "the",
            "fact",
            "source",
            "it's",
            "3.5",
            " ",
            "  ",
            "\n",
            "\t",
            ".",
            ",",
            "日",
            "本",
            "é",
            "\x1b",
        ]
    )
).map("".join) | st.text(max_size=40)


def said(old: str, new: str) -> str:
    """The pieces as a terminal without colour shows them."""
    marks = {"same": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}
    return "".join(marks[p.kind][0] + p.text + marks[p.kind][1] for p in diff_words(old, new))


@given(TEXT, TEXT)
def test_the_pieces_give_both_texts_back(old: str, new: str) -> None:
    """Same and old are the old text to the letter, same and new the new one; no two neighbours are
    of one kind.
    """
    pieces = diff_words(old, new)
    assert "".join(p.text for p in pieces if p.kind != "new") == old
    assert "".join(p.text for p in pieces if p.kind != "old") == new
    assert all(p.text for p in pieces)
    assert all(a.kind != b.kind for a, b in pairwise(pieces))


@given(TEXT)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    """One piece, or none of an empty text."""
    assert diff_words(text, text) == ((Piece("same", text),) if text else ())


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("grade it high", "grade it low", "grade it [-high-]{+low+}"),
        ("one two", "one three two", "one{+ three+} two"),
        ("one\ntwo three", "one two\nthree", "one[-\n-]{+ +}two[- -]{+\n+}three"),
        ("it isn't 3.5 m", "it isn't 3.6 m", "it isn't [-3.5-]{+3.6+} m"),
        ("全部正しい", "全部誤り", "全部[-正しい-]{+誤り+}"),
        ("", "new", "{+new+}"),
        (
            "See the text. End.",
            "See the text. Look at the text. End.",
            "See the text.{+ Look at the text.+} End.",
        ),
        ("See the text. Look at the text.", "See the text.", "See the text.[- Look at the text.-]"),
        ("Be just. Go on.", "Be kind. Be just. Go on.", "{+Be kind. +}Be just. Go on."),
        (
            "a red the old house",
            "my blue the tall tower",
            "[-a red the old house-]{+my blue the tall tower+}",
        ),
        ("keep the rest of it", "keep a rest of it", "keep [-the-]{+a+} rest of it"),
    ],
)
def test_words_stay_whole_and_a_word_kept_by_chance_makes_no_confetti(
    old: str, new: str, wanted: str
) -> None:
    """What a person sees."""
    assert said(old, new) == wanted


def test_a_long_text_is_compared_in_reasonable_time() -> None:
    """Thousands of words, most of them common, with every tenth one changed."""
    old = [("the", "a", "source", f"w{i}")[i % 4] for i in range(6_000)]
    new = [word if i % 10 else f"x{i}" for i, word in enumerate(old)]
    pieces = diff_words(" ".join(old), " ".join(new))
    assert "".join(p.text for p in pieces if p.kind != "old") == " ".join(new)


def test_a_prompts_diff_names_the_parts_that_differ_and_no_others() -> None:
    """Criteria, anchors and cases; an equal prompt has no diff."""
    assert diff_prompts(PROMPT, PROMPT) == ()
    scale = replace(PROMPT.scale, anchors={**PROMPT.scale.anchors, "0": "Nothing supports it."})
    bank = CaseBank(cases=(Case({"source": "s", "statement": "t"}, 3),))
    criteria = f"{PROMPT.criteria} Be strict."
    other = replace(PROMPT, criteria=criteria, scale=scale, cases=Cases(bank=bank))
    found = {diff.part: diff.pieces for diff in diff_prompts(PROMPT, other)}
    assert list(found) == ["criteria", "scale", "cases"]
    assert found["criteria"][-1] == Piece("new", " Be strict.")
    assert "source: s\nstatement: t\n=> 3" in found["cases"][-1].text


def test_of_cases_those_that_came_and_went_stand_in_a_diff() -> None:
    """What both banks have is left out, and of a large bank the first that came are listed."""
    rows = [
        Case(inputs={"source": f"text {i}", "statement": "<b>s</b>"}, label=3, reason="why")
        for i in range(40)
    ]
    few, many = (
        replace(PROMPT, cases=Cases(bank=CaseBank(cases=tuple(cases))))
        for cases in (rows[:3], rows[1:])
    )
    (changed,) = diff_prompts(few, many)
    assert changed.part == "cases"
    old, new = ("".join(p.text for p in changed.pieces if p.kind != no) for no in ("new", "old"))
    assert old.startswith("4 decided cases, the nearest of 3, as many of each decision (bank ")
    assert old.endswith("\n\nsource: text 0\nstatement: <b>s</b>\n=> 3\nreason: why")
    assert "text 2\n" not in old + new
    assert new.count("=> 3") == LISTED
    assert new.endswith("and 32 more cases")
    (gone,) = diff_prompts(few, PROMPT)
    assert {piece.kind for piece in gone.pieces} == {"old"}
    eight = replace(few, cases=replace(few.cases, count=8))
    (count,) = diff_prompts(few, eight)
    assert [piece.text for piece in count.pieces if piece.kind != "same"] == ["4", "8"]


@pytest.mark.parametrize("part", ["system", "criteria", "template", "reply"])
def test_every_text_that_makes_a_version_is_a_part(part: str) -> None:
    """What changes the version changes some part."""
    other = replace(PROMPT, **{part: getattr(PROMPT, part) + " {{source}}"})
    assert [diff.part for diff in diff_prompts(PROMPT, other)] == [part]
    fields = replace(PROMPT, reply_schema={**PROMPT.reply_schema, "more": "text"})
    assert [diff.part for diff in diff_prompts(PROMPT, fields)] == ["reply fields"]
    assert next(name for name, _ in prompt_parts(PROMPT)) == "system"
