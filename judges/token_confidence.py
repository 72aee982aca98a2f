"""Tok confidence: how sure a judge is, read from the log-probabilities of the token that decided.

The alternatives at that token are what the judge could have said instead. The confidence is the
share of the decision taken (for unordered labels, of the label chosen) among those alternatives
that are grades, as Tok is defined for DIRAS (Ni et al. 2024). Where there is no such token or too
small a share, the row is unscored; nothing falls back on what the judge states.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from .errors import InputError, ModelError
from .models.model import Completion, TokenLogprob
from .prompt import JudgePrompt
from .reply import read_reply
from .reply_reading import WORDS_FOR_ONE, WORDS_FOR_ZERO
from .scale import OutputScale
from .verdict import Answer, Unscored, Verdict

TOP = 20
"""Alternatives asked for at each token: the most that endpoints give."""
LEAST_MASS = 0.5
"""Of the probability at the deciding token; with less of it on grades there is no confidence."""
MOST_TRIALS = 50
"""Places of a reply that are tried; one with more has no deciding token that we know."""

_AROUND = " \t\r\n\"'`*_“”‘’«»:;,.()[]{}<>|▁Ġ"
"""What tokenizers glue to a grade: spaces as they mark them, quotes, brackets and punctuation."""

Words = Mapping[str, float]
"""Each way to write a grade, in lower case, and the grade."""


def require_tokens(prompt: JudgePrompt) -> None:
    """Make sure that a judge's grades can be tokens.

    Raises:
        InputError: The judge answers with a probability, which has no grades.
    """
    if not prompt.scale.levels:
        raise InputError(
            f"the judge {prompt.name!r} answers with a probability: there are no grades whose"
            " tokens could be weighed",
            hint="--confidence ask",
        )


def require_logprobs(completions: Collection[Completion], model: str) -> None:
    """Refuse an endpoint that leaves log-probabilities out, instead of taking another confidence.

    Args:
        completions: Replies that a verdict was read from.
        model: What to call the model.

    Raises:
        ModelError: One was made without asking for them, or there are some and none has any
            alternatives.
    """
    problem = None
    if completions and not any(
        token.top for completion in completions for token in completion.logprobs
    ):
        problem = "gives no"
    if any("logprobs" in completion.dropped for completion in completions):
        problem = "refuses"
    if problem is not None:
        raise ModelError(
            f"the endpoint of {model!r} {problem} token log-probabilities, so there is no Tok"
            " confidence",
            fatal=True,
            hint="--confidence ask takes the confidence that the judge states",
        )


def with_token_confidence(prompt: JudgePrompt, answer: Answer, completion: Completion) -> Answer:
    """Put the confidence of the tokens in place of a stated one; unscored, with the reason, where
    there is none.
    """
    if isinstance(answer, Unscored):
        return answer
    words = grade_words(prompt.scale)
    at = deciding_token(prompt, answer.score, completion, words)
    if at is None:
        return _unscored(answer, "no token of the reply could be found that decides the score")
    token = completion.logprobs[at]
    if len(token.top) < 2:
        return _unscored(
            answer, f"the endpoint gave no alternatives to the token {token.token!r:.40}"
        )
    shares = token_shares(token, answer.score, words)
    if shares is None:
        return _unscored(
            answer, f"the grade {answer.score:g} spans several tokens, from {token.token!r:.40} on"
        )
    mass = sum(shares.values())
    if mass < LEAST_MASS:
        return _unscored(
            answer, f"grades hold only {mass:.3f} of the probability at {token.token!r:.40}"
        )
    if prompt.scale.kind == "choice":  # labels without an order have no side of a threshold
        confidence = shares[answer.score] / mass
    else:
        above = (share for grade, share in shares.items() if prompt.scale.positive(grade))
        positive = sum(above) / mass
        confidence = positive if answer.positive else 1.0 - positive
    return replace(answer, confidence=min(1.0, max(0.0, confidence)), mass=min(1.0, mass))


def _unscored(verdict: Verdict, detail: str) -> Unscored:
    return Unscored(
        row_id=verdict.row_id,
        reason="logprobs",
        detail=detail,
        reply_hash=verdict.reply_hash,
        tokens_in=verdict.tokens_in,
        tokens_out=verdict.tokens_out,
        cost=verdict.cost,
        latency=verdict.latency,
    )


def grade_words(scale: OutputScale) -> dict[str, float]:
    """Return every way to write a grade of the scale; a word for two grades is left out."""
    words: dict[str, float] = {}
    if scale.kind == "binary":
        words = dict.fromkeys(WORDS_FOR_ZERO, 0.0) | dict.fromkeys(WORDS_FOR_ONE, 1.0)
    if scale.kind == "graded":
        words = {str(int(grade)): grade for grade in scale.levels}
    folded = [label.strip().lower() for label in scale.labels]
    named = {label: float(grade) for grade, label in enumerate(folded) if folded.count(label) == 1}
    return {word: grade for word, grade in (words | named).items() if word}


def deciding_token(
    prompt: JudgePrompt, score: float, completion: Completion, words: Words
) -> int | None:
    """Return the position of the token at which the grade that was read begins.

    It is the place where another grade, written instead, makes the whole reply read as that grade.
    So a number in the reasoning, in a quotation or in an earlier draft is never taken for it,
    whatever the reply's form.
    """
    text, trials = completion.text, 0
    written = sorted(
        (word for word, grade in words.items() if grade == score), key=len, reverse=True
    )
    # From the end, because the last verdict of a reply counts.
    for position, start in reversed(list(_starts(completion.logprobs, text))):
        token = completion.logprobs[position].token
        word = _bare(token)
        at = start + (len(token) - len(token.lstrip(_AROUND)))
        if not word:
            continue
        for spelling in written:
            end = at + len(spelling)
            if not spelling.startswith(word) or text[at:end].lower() != spelling:
                continue
            trials += 1
            if trials > MOST_TRIALS:
                return None
            if _decides(prompt, score, completion, words, (at, end)):
                return position
    return None


def _decides(
    prompt: JudgePrompt, score: float, completion: Completion, words: Words, span: tuple[int, int]
) -> bool:
    """Return whether another grade in this part of the reply would have been read as the
    verdict.
    """
    before, after = completion.text[: span[0]], completion.text[span[1] :]
    others = [(word, grade) for word, grade in words.items() if grade != score]
    # One other number or label will do; of words such as yes and true, not every one fits every
    # form of reply.
    if prompt.scale.kind != "binary":
        others = others[:1]
    for word, grade in others:
        read = read_reply(prompt, replace(completion, text=before + word + after))
        if isinstance(read, Verdict) and read.score == grade:
            return True
    return False


def _starts(tokens: Sequence[TokenLogprob], text: str) -> Iterator[tuple[int, int]]:
    """Yield the tokens that stand in the text, as (position, where it starts).

    The tokens may hold more than the text, such as thinking and end marks around it, and a letter
    cut into pieces that are no text by themselves; after such a piece the next token is looked for
    close by.
    """
    joined = "".join(token.token for token in tokens)
    # Below 0 while the tokens before the text go by.
    at, missed = min(0, -joined.rfind(text)), 0
    for position, token in enumerate(tokens):
        piece = token.token
        here = at
        if at >= 0 and not text.startswith(piece, at):
            here = text.find(piece, at, at + len(piece) + 4 * missed) if missed else -1
            if here < 0:
                missed += 1
                continue
        if here >= 0:
            yield position, here
        at, missed = here + len(piece), 0


def token_shares(token: TokenLogprob, score: float, words: Words) -> dict[float, float] | None:
    """Return the probabilities of the grades among a token's alternatives, other spellings added
    up.

    An alternative counts for the grade it writes out, or for the only grade that it can be the
    beginning of. One that may be either a grade or the beginning of a longer one (1 and 10) counts
    for none, unless the longer one is seen as a token of its own, which shows that this tokenizer
    does not cut it up.

    Returns:
        None where the token is the beginning of the grade that was read, and could be that of
        another.
    """
    logprobs = {**dict(token.top), token.token: token.logprob}
    seen = {_bare(piece) for piece in logprobs}
    word = _bare(token.token)
    if words.get(word) != score and _grade(word, words, seen) != score:
        return None
    shares: dict[float, float] = {}
    for piece, logprob in logprobs.items():
        grade = score if piece == token.token else _grade(_bare(piece), words, seen)
        if grade is not None:
            shares[grade] = shares.get(grade, 0.0) + math.exp(min(0.0, logprob))
    return shares


def _grade(word: str, words: Words, seen: Collection[str]) -> float | None:
    if not word:
        return None
    longer = {
        other: grade for other, grade in words.items() if other != word and other.startswith(word)
    }
    grades = set(longer.values())
    exact = words.get(word)
    if exact is None:
        return grades.pop() if len(grades) == 1 else None
    if grades <= {exact} or any(other in seen for other in longer):
        return exact
    return None


def _bare(token: str) -> str:
    return token.strip(_AROUND).lower()
