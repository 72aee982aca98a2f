import os

from openai import AzureOpenAI

client = AzureOpenAI(
    api_version="2024-06-01",
    azure_endpoint=os.environ["AZURE_OPENAI_ENDPOINT"],
)

REVIEW_PROMPT = """You are an attending physician in internal medicine. Below are the chart notes of a patient and a discharge letter drafted by a language model for the general practitioner.

Chart notes:
{chart}

Draft letter:
{letter}

Read the draft critically. Point out
- what is missing that the general practitioner needs to know,
- what is wrong compared to the chart,
- which sentences should be shortened.

Then write an improved version of the letter that could be signed. Keep the headings of the draft.
"""


def review(chart: str, letter: str) -> str:
    response = client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "user", "content": REVIEW_PROMPT.format(chart=chart, letter=letter)}],
        temperature=0.2,
    )
    return response.choices[0].message.content
