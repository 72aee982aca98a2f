# pytest -m llm tests/test_hallucination.py
import pytest

from helpers import ask_bot, chat, load_cases

CASES = load_cases("data/pharma_leaflets.jsonl")


def judge(question, leaflet, answer):
    messages = [
        {
            "role": "system",
            "content": (
                "You verify statements about medicines against the official patient leaflet. "
                "You never rely on what you have learned about the medicine elsewhere. "
                "Be careful with dosages: same number with another unit is a different statement."
            ),
        },
        {
            "role": "user",
            "content": f"""<question>{question}</question>
<leaflet>{leaflet}</leaflet>
<answer>{answer}</answer>

Classify the answer:
SUPPORTED - each statement can be found in the leaflet
PARTIAL - the main statement is in the leaflet, a side remark is not
UNSUPPORTED - the main statement is not in the leaflet or the leaflet says otherwise

A missing warning is not a hallucination. "Ask your doctor" is always allowed.

Answer with one word out of SUPPORTED, PARTIAL, UNSUPPORTED.""",
        },
    ]
    return chat(messages, model="gpt-4o", temperature=0).strip().upper()


@pytest.mark.llm
@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_no_hallucination(case):
    answer = ask_bot(case["question"], docs=[case["leaflet"]])
    verdict = judge(case["question"], case["leaflet"], answer)
    assert verdict == "SUPPORTED", f"{verdict}: {answer}"
