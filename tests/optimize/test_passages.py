"""What a brief shows of a row whose texts are too long."""

import json
from pathlib import Path

import pytest

from judgewright.judges import Row
from judgewright.optimize.passages import least_supported, shown_inputs, size

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
RESPONSES = SHARED / "groundedness_ragtruth_qa_response.jsonl"

SOURCE = (
    "The mill was built in 1820 by the river Aare. It ground wheat and rye for the village. " * 12
)
RIGHT = "The mill was built in 1820 by the river Aare. It ground wheat and rye for the village."
INVENTED = "Lightning destroyed its wooden wheel."


def _flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("place", [0, 3, 7])
def test_of_a_long_statement_the_sentence_without_support_is_shown_wherever_it_stands(place: int):
    sentences = [RIGHT] * 7
    sentences.insert(place, INVENTED)
    row = Row(id="a", inputs={"source": SOURCE, "statement": " ".join(sentences)})
    shown = shown_inputs(row, "", "statement", 400)
    assert INVENTED in shown["statement"]
    assert sum(size(text) for text in shown.values()) <= 400


def test_a_statement_that_fits_stays_whole():
    row = Row(id="a", inputs={"source": SOURCE, "statement": f"{RIGHT} {INVENTED}"})
    assert shown_inputs(row, "", "statement", 600)["statement"] == f"{RIGHT} {INVENTED}"


@pytest.mark.parametrize("text", ["", "...", "? ! ?" * 200, "word " * 2_000])
def test_texts_without_sentences_or_words_are_cut_to_the_limit(text: str):
    assert size(least_supported(_flat(text), others=["a source."], limit=100)) <= 100


@pytest.mark.skipif(not RESPONSES.exists(), reason="no shared data beside this checkout")
def test_real_answers_are_cut_so_that_what_annotators_marked_stays():
    cut = kept = 0
    for line in RESPONSES.read_text().splitlines():
        fields = json.loads(line)
        if fields["label"] != 0 or not fields.get("hallucinated_text"):
            continue
        row = Row(
            id=fields["id"], inputs={"source": fields["source"], "statement": fields["statement"]}
        )
        statement = _flat(shown_inputs(row, "", "statement", 1_600)["statement"])
        if statement != _flat(fields["statement"]):
            cut += 1
            kept += any(
                _flat(part)[:40] in statement for part in fields["hallucinated_text"].split("||")
            )
    # Sentences in their order kept 24 of 39.
    assert cut >= 15
    assert kept >= 0.9 * cut
