"""What a prompt's own words say of threshold, labels and marks; and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgewright.judges import Completion, Verdict, read_reply
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.imports import AddOptions, Understood, read_own_prompt, understand

RULES = """You check a letter.

Rules:
- The tone is kind and the facts are those of the file.
{said}

Letter: {{letter}}

"""


def found(tmp_path: Path, text: str, name: str = "judge.txt") -> Understood:
    """What is understood of a file with this text."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return understand(read_own_prompt(path), AddOptions())


@pytest.mark.parametrize(
    ("said", "threshold"),
    [
        ("Letters with 5 or more are published.", 5),
        ("A letter passes from 4 on.", 4),
        ("Whatever scores below 5 is rejected.", 5),
        ("Letters with 4 points or more are accepted, all others go back.", 4),
        ("Our gate is at 4.", 4),
        ("3 is a fail, 4 is a pass.", 4),
        ("A letter with a 1, 2 or 3 is thrown away.", 4),
        ("Below a 5 it never reaches the client.", 5),
        ("If it's a 3 or lower, the file is reopened.", 4),
        ("Nobody gets more than 2 if the file is wrong.", 3),
        ("Scores of at most 2 fail; the others do not matter.", 3),
        ("Only a 5 is accepted.", 5),
        ("Threshold: 2", 2),
        ("Ab 4 ist der Brief freigegeben.", 4),
        ("Seuil de publication : 5/5", 5),
        ("A 4 or worse fails.", 5),
        ("- 4 or more spelling errors make a letter fail.", 3),
        ("- At least 2 of the sources must pass a check.", 3),
        ("- A paragraph of over 4 sentences is rejected.", 3),
        ("- Letters from 2019 are rejected.", 3),
    ],
)
def test_the_threshold_is_the_words(tmp_path: Path, said: str, threshold: float) -> None:
    """A sentence on grades sets it; one on sentences, errors or years leaves the middle."""
    prompt = found(
        tmp_path, RULES.format(said=said) + "Give a score from 1 to 5 as 'Score: N'."
    ).prompt
    assert prompt is not None
    assert (prompt.scale.low, prompt.scale.high, prompt.scale.threshold) == (1, 5, threshold)


def test_a_low_number_can_be_the_good_one(tmp_path: Path) -> None:
    """Grades above the number fail: the scale begins with its highest."""
    understood = found(
        tmp_path,
        RULES.format(said="Any score above 2 is rejected.")
        + "Give a score from 0 to 5 as 'Score: N'.",
    )
    assert understood.prompt is not None
    scale = understood.prompt.scale
    assert scale.labels == ("5", "4", "3", "2", "1", "0")
    assert [name for grade, name in enumerate(scale.labels) if scale.positive(grade)] == [
        "2",
        "1",
        "0",
    ]


HALLUCINATED = """You check whether an answer is hallucinated.

An answer is hallucinated when it says what the source does not.

Source: {source}
Answer: {answer}

Give a score between 0 and 1, where 0 = no hallucination, 1 = hallucinated throughout. SAID
"""


@pytest.mark.parametrize(
    ("said", "threshold"),
    [
        ("A score below 0.3 passes.", 0.3),
        ("A score under 0.3 is fine.", 0.3),
        ("Everything above 0.2 is rejected.", 0.2),
        ("Scores up to 0.4 are accepted.", 0.4),
        ("The threshold is 0.9.", 0.9),
        ("", 0.5),
    ],
)
def test_a_low_probability_can_be_the_good_one(tmp_path: Path, said: str, threshold: float) -> None:
    """The words give the number of a reply; at it a row still passes, and above it none does."""
    understood = found(tmp_path, HALLUCINATED.replace("SAID", said))
    assert understood.questions == ()
    prompt = understood.prompt
    assert prompt is not None
    assert prompt.scale == parse_label_scale(f"low-probability@{threshold}")
    answers = [
        read_reply(prompt, Completion(text=f"Score: {n}"))
        for n in (threshold, round(threshold + 0.01, 2))
    ]
    assert [isinstance(one, Verdict) and one.positive for one in answers] == [True, False]
    middle = [note for note in understood.notes if "up to 0.5 they do here" in note]
    assert bool(middle) == (said == "")


def test_what_passes_says_which_end_is_good_where_its_words_do_not(tmp_path: Path) -> None:
    """ "Fully" is a good word elsewhere."""
    text = HALLUCINATED.replace("hallucinated throughout", "fully hallucinated")
    understood = found(tmp_path, text.replace("SAID", "A score below 0.3 passes."))
    assert understood.scale == parse_label_scale("low-probability@0.3")


def test_words_that_let_a_high_fault_pass_are_asked_about(tmp_path: Path) -> None:
    """They contradict what is measured."""
    understood = found(tmp_path, HALLUCINATED.replace("SAID", "Anything above 0.8 passes."))
    assert understood.prompt is None


def test_an_option_says_the_threshold_in_the_numbers_of_replies(tmp_path: Path) -> None:
    """As the words do."""
    path = tmp_path / "judge.txt"
    path.write_text(HALLUCINATED.replace("SAID", ""), encoding="utf-8")
    scale = understand(read_own_prompt(path), AddOptions(threshold="0.1")).scale
    assert scale == parse_label_scale("low-probability@0.1")


def test_where_the_prompt_does_not_say_how_to_answer_the_sentence_says_which_end_is_the_best(
    tmp_path: Path,
) -> None:
    """A model could not know it else."""
    path = tmp_path / "judge.txt"
    path.write_text("Find risks.\n\nA risk is a name in a note.\n\n{note}\n", encoding="utf-8")
    prompt = understand(
        read_own_prompt(path), AddOptions(scale=parse_label_scale("low-probability"))
    ).prompt
    assert prompt is not None
    assert "a number from 0 to 1, where 0 is the best" in prompt.reply


def test_words_that_may_turn_the_scale_are_asked_about(tmp_path: Path) -> None:
    """What is above the number is not said: it may be the score or anything else."""
    understood = found(
        tmp_path, RULES.format(said="- Typos: more than 2 fail.") + "Give a score from 1 to 5."
    )
    assert [question.option for question in understood.questions] == ["threshold"]


@pytest.mark.parametrize(
    ("asks", "labels", "reply"),
    [
        (
            "End with a line that reads\nResult: kept\nor\nResult: not kept",
            ("not kept", "kept"),
            "ok\nResult: not kept",
        ),
        (
            "Danach in einer Zeile:\nBefund: erfüllt\noder\nBefund: nicht erfüllt",
            ("nicht erfüllt", "erfüllt"),
            None,
        ),
        (
            "Termine par la ligne :\nAvis : VALIDE\nou\nAvis : INVALIDE",
            ("INVALIDE", "VALIDE"),
            "Bon.\n\nAvis : INVALIDE",
        ),
        (
            (
                "Write one word on the last line and nothing more: GOOD when all is kind, BAD when"
                " it is not."
            ),
            ("BAD", "GOOD"),
            "It is a good try.\n\nBAD",
        ),
        ("Answer with yes or no. (yes = it is misleading)", ("yes", "no"), "Yes."),
        ("Give TRUE if the letter is kind, FALSE otherwise.", ("FALSE", "TRUE"), "FALSE"),
        ("Answer Y if all of it is right and N if it is not.", ("N", "Y"), "N"),
        (
            "Reply with one word: LGTM, NEEDS_CHANGES or BLOCK.",
            ("BLOCK", "NEEDS_CHANGES", "LGTM"),
            "BLOCK",
        ),
        (
            "Write `Light:` followed by GREEN, AMBER or RED.",
            ("RED", "AMBER", "GREEN"),
            "Light: RED",
        ),
    ],
)
def test_labels_are_the_words(
    tmp_path: Path, asks: str, labels: tuple[str, ...], reply: str | None
) -> None:
    """The worst label comes first, the sentence that asks is no criterion, and a reply has its
    grade.
    """
    prompt = found(tmp_path, RULES.format(said="") + asks).prompt
    assert prompt is not None
    assert prompt.scale.labels == labels
    assert prompt.criteria.endswith("those of the file.")
    if reply:
        answer = read_reply(prompt, Completion(text=reply))
        assert isinstance(answer, Verdict)
        assert answer.score == 0.0


def test_true_beside_a_fault_is_asked_about(tmp_path: Path) -> None:
    """`contains_names: true` does not say that true is the good one."""
    understood = found(
        tmp_path,
        RULES.format(said="")
        + "End with a line that reads\ncontains_names: true\nor\ncontains_names: false",
    )
    assert [question.option for question in understood.questions] == ["labels"]


def test_true_where_problems_are_found_is_asked_about(tmp_path: Path) -> None:
    """A good and a bad word in what is said of TRUE do not decide."""
    understood = found(
        tmp_path, RULES.format(said="") + "Give TRUE if quality issues are found, FALSE otherwise."
    )
    assert [question.option for question in understood.questions] == ["labels"]


@pytest.mark.parametrize(
    "said",
    [
        "- Makes sense from line to line\n- Shows clear progress",
        '- No thanks for nothing (e.g. "Sure", "Okay", "Got it")',
        "- Empathy and patience: the tone\n- Confidence and clarity: the facts",
    ],
)
def test_a_list_that_nobody_asks_for_is_no_scale(tmp_path: Path, said: str) -> None:
    """Aspects and examples are not offered as an answer: the scale is asked for."""
    understood = found(tmp_path, RULES.format(said=said))
    assert [question.option for question in understood.questions] == ["scale"]


@pytest.mark.parametrize(
    "asks",
    [
        "First comment on each rule in one sentence. Then give a score from 1 to 5.",
        'Geef eerst een korte uitleg en schrijf dan "Cijfer: 4". Give a score from 1 to 5.',
        "No explanation, no markdown. Give a score from 1 to 5.",
    ],
)
def test_how_to_answer_is_no_criterion(tmp_path: Path, asks: str) -> None:
    """Also where it stands in words of another language, or says what not to write."""
    prompt = found(tmp_path, RULES.format(said="") + asks).prompt
    assert prompt is not None
    assert prompt.criteria.endswith("those of the file.")


def test_a_sentence_that_only_names_the_scale_does_not_end_the_criteria(tmp_path: Path) -> None:
    """What counts double stands after it."""
    said = "- It is short.\n\nThen give a score from 1 to 5. The tone counts double."
    prompt = found(tmp_path, RULES.format(said=said) + "Close with 'Score: N'.").prompt
    assert prompt is not None
    assert prompt.criteria.endswith("counts double.")


def test_kinds_of_faults_have_no_order(tmp_path: Path) -> None:
    """Of categories none is the better one, as they happen to be listed."""
    kinds = (
        "wrong_name: of another file",
        "wrong_date: a day off",
        "syntax: no sentence",
        "no_error: all is right",
    )
    said = "Categories:\n" + "\n".join(f"- {kind}" for kind in kinds)
    text = RULES.format(said=said) + 'Answer with JSON: {"category": "<one of the categories>"}'
    prompt = found(tmp_path, text).prompt
    assert prompt is not None
    assert prompt.scale.kind == "choice"


def test_promptfoo_may_want_pass_alone(tmp_path: Path) -> None:
    """A rubric whose answer has no score is true or false."""
    text = """
defaultTest:
  options:
    rubricPrompt: |
      You check a letter.

      Letter:
      {{output}}

      The tone is kind and the facts are those of the file.

      Respond with JSON: {"reason": "why", "pass": true or false}
tests:
  - assert: [{type: llm-rubric, value: a good letter}]
"""
    prompt = found(tmp_path, text, "promptfooconfig.yaml").prompt
    assert prompt is not None
    assert prompt.scale.labels == ("false", "true")


def test_one_overall_score_among_several(tmp_path: Path) -> None:
    """Its own range counts, not that of the parts."""
    asks = (
        "Parts are 0 to 10. The overall score is 0 to 50.\n\n"
        'Answer as JSON: {"parts": {"tone": {"score": 0}}, "overall": {"score": 0, "why": ""}}'
    )
    prompt = found(tmp_path, RULES.format(said="") + asks).prompt
    assert prompt is not None
    assert prompt.reply_schema["overall.score"] == "score"
    assert (prompt.scale.low, prompt.scale.high) == (0, 50)


PYTHON = '''
from string import Template
PASS_THRESHOLD = 5
ASK = Template("""You check a letter.

Rules:
- The tone is kind and costs no $$.

Letter: $letter

Give a score from 1 to 5 as "Score: N".""")


def ask(letter):
    return ASK.substitute(letter=letter)
'''


@pytest.mark.parametrize(
    "text", [PYTHON, PYTHON.replace("Template(", "(").replace("$letter", "{letter}")]
)
def test_a_constant_and_its_use_are_one_prompt(tmp_path: Path, text: str) -> None:
    """A string that a function fills in is no second one, and the threshold beside it is the
    judge's.
    """
    prompt = found(tmp_path, text, "judge.py").prompt
    assert prompt is not None
    assert list(prompt.inputs) == ["letter"]
    assert prompt.scale.threshold == 5


@pytest.mark.parametrize(
    ("said", "labels", "threshold"),
    [
        ("Score from 1 to 3. Half points are allowed.", ("1", "1.5", "2", "2.5", "3"), "2"),
        (
            "Score from 1 to 3 in steps of 0.5. From 2.5 on a letter passes.",
            ("1", "1.5", "2", "2.5", "3"),
            "2.5",
        ),
        ("Gib 1 bis 3 Punkte; halbe Punkte sind erlaubt.", ("1", "1.5", "2", "2.5", "3"), "2"),
        ("Score from 1 to 3. No half points.", (), ""),
        ("Score from 1 to 3. Deduct half points for spelling.", (), ""),
    ],
)
def test_half_points_are_grades_where_they_are_allowed(
    tmp_path: Path, said: str, labels: tuple[str, ...], threshold: str
) -> None:
    """A reply of 2.5 is read then, and what passes may be one."""
    prompt = found(tmp_path, RULES.format(said="") + said).prompt
    assert prompt is not None
    assert prompt.scale.labels == labels
    if labels:
        assert labels[int(prompt.scale.threshold)] == threshold
        verdict = read_reply(prompt, Completion(text="It is good.\n2.5"))
        assert isinstance(verdict, Verdict)
        assert verdict.score == 3.0


def test_a_verdict_between_two_tags_is_read_there(tmp_path: Path) -> None:
    """Whether or not the tags stand round anything in the prompt."""
    asks = "Put a number from 1 (bad) to 5 (good) between <mark> and </mark>, digits only."
    prompt = found(tmp_path, RULES.format(said="") + asks).prompt
    assert prompt is not None
    assert prompt.reply_mark == "<mark>...</mark>"


def test_constants_that_are_put_together_fill_their_place(tmp_path: Path) -> None:
    """The rules of a Python file may be joined from others, in a loop or in a sum."""
    rules = (
        'KIND = "Kind: the tone is kind to whoever reads it. "\nTRUE = "True: the facts are those'
        ' of the file."\n'
    )
    joined = 'RULES = "\\n".join("* " + rule for rule in (KIND, TRUE))\n'
    prompt = (
        'JUDGE = """You check a letter.\n\n{rules}\n\nLetter: {letter}\n\nEnd with: Score:'
        ' <1-5>"""\n'
    )
    call = "def ask(letter):\n    return send(JUDGE.format(rules=RULES, letter=letter))\n"
    for made in (joined, "RULES = KIND + TRUE\n"):
        read = found(tmp_path, rules + made + prompt + call, "judge.py").prompt
        assert read is not None
        assert read.inputs == ("letter",)
        assert "the tone is kind to whoever reads it." in read.criteria
        assert "the facts are those of the file." in read.criteria


def test_an_answer_that_goes_on_in_the_next_line_is_one(tmp_path: Path) -> None:
    """A field that stands there is a field of the answer, and no rule."""
    asks = (
        'Output a JSON object with two keys: "quote" (a sentence, or nothing) and\n"fits_file"'
        " (true or false)."
    )
    prompt = found(tmp_path, RULES.format(said="") + asks).prompt
    assert prompt is not None
    assert list(prompt.reply_schema) == ["quote", "fits_file"]
    assert "fits_file" not in prompt.criteria
