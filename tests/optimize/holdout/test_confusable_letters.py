"""Texts are compared as they are drawn."""

import pytest

from judgewright.optimize.holdout import letters_of


@pytest.mark.parametrize(
    "disguised",
    [
        "THE paper, cited in 2010!",
        "the pap\u0435r cited in 2010",
        "\u0422h\u0435 \u0440\u0430\u0440\u0435r \u0441it\u0435d in 2010",
        "\u03a4he p\u03b1per c\u0131ted in 2\u039f1\u039f",
        "the pa\u200bper ci\u00adted\u2060 in 2010",
        "t\u3164h\u115fe paper cited in 2010",
        "th\u00e9 p\u0101per c\u00eet\u0301ed in 2010",
        "\uff54\uff48\uff45 \U0001d429\U0001d41a\U0001d429\U0001d41e\U0001d42b cited in 20\u24ea".replace(  # noqa: E501
            "20\u24ea", "2010"
        ),
        "t h e p a p e r c-i-t-e-d i n 2 0 1 0",
        "the paper cIted in 2OlO",
    ],
    ids=[
        *(
            "capitals",
            "one Cyrillic letter",
            "all Cyrillic",
            "Greek",
            "invisible signs",
            "fillers",
            "accents",
        ),
        *("wide", "spaces and hyphens", "letters for digits"),
    ],
)
def test_a_disguise_is_seen_through(disguised: str) -> None:
    """What a reader takes for the same text is the same."""
    assert letters_of(disguised) == letters_of("the paper cited in 2010")


def test_other_texts_stay_other_texts() -> None:
    """Also in scripts that have letters of their own; a text without letters has none."""
    texts = ["the paper", "the papers", "Это статья", "Это статьи", "那篇论文", "那篇文章"]
    assert len({letters_of(text) for text in texts}) == len(texts)
    assert letters_of(" ... \u200b!") == ""
