"""A small corpus to compare chunkings on: reports of firms that do not exist, and questions about
them.

All reports have the same sections and nearly the same sentences, as those of real firms do, and
call their firm by name in the title alone. So a chunk without its document's title does not tell
whose revenue it speaks of.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import jsonlines

from ....judges.errors import InputError

FIRMS = (
    "Alderbrook Mills",
    "Brightwater Ferries",
    "Castellan Optics",
    "Dunmore Grain",
    "Elmfield Rail",
    "Farrow Ceramics",
    "Greyhaven Shipping",
    "Hartwell Seeds",
    "Ironbridge Tools",
    "Juniper Textiles",
    "Kestrel Air",
    "Larkspur Foods",
)
YEARS = (2021, 2022, 2023)
_PLACES = ("Ravensport", "Millgate", "Oxmoor", "Saltby", "Thornwick", "Ullesford")
_AUDITORS = ("Penhale & Co", "Marchbank Audit", "Tolliver Partners")
_PADDING = (
    "The board met {n} times during the year and reviewed the risk register at each meeting.",
    "Management continued to simplify procedures, and staff were consulted before each change.",
    "Suppliers were assessed against the code of conduct, and {n} site visits were made.",
    "Insurance cover was renewed on terms that are close to those of the year before.",
    "No event after the balance sheet date calls for a change to the figures given here.",
    "The pension fund was valued by an independent actuary, who found no cause for concern.",
    "Energy use fell a little, mainly because older machines were taken out of service.",
    "The committee is satisfied that controls worked as intended throughout the year.",
)
_SECTIONS = ("Results", "Investment", "People", "Audit", "Outlook")


def write_reports(folder: Path, *, seed: int = 0) -> tuple[Path, Path]:
    """Write `documents.jsonl` and `questions.jsonl`; return their paths.

    Args:
        folder: Made where it is not there.
        seed: Which figures; equal seeds give equal files.

    Raises:
        InputError: The folder cannot be written.
    """
    rng = Random(seed)  # figures of firms that do not exist
    documents: list[dict[str, object]] = []
    questions: list[dict[str, object]] = []
    for firm in FIRMS:
        for year in YEARS:
            name = f"{firm.split()[0].lower()}-{year}"
            text, qa_triples = _report(firm, year, rng)
            documents.append({"id": name, "title": f"{firm}, annual report {year}", "text": text})
            for question, gold, evidence in qa_triples:
                questions.append(
                    {
                        "question": question,
                        "gold_answer": gold,
                        "document_id": name,
                        "evidence": evidence,
                    }
                )
    paths = folder / "documents.jsonl", folder / "questions.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, lines in zip(paths, (documents, questions), strict=True):
            with (
                path.open("w", encoding="utf-8", newline="\n") as file,
                jsonlines.Writer(file) as writer,
            ):
                writer.write_all(lines)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}") from None
    return paths


def _report(firm: str, year: int, rng: Random) -> tuple[str, list[tuple[str, str, str]]]:
    revenue = f"{rng.randint(110, 990) / 10:.1f} million"
    capital = f"{rng.randint(11, 99) / 10:.1f} million"
    staff, joined = str(rng.randint(120, 990)), str(rng.randint(11, 88))
    town, auditor = rng.choice(_PLACES), rng.choice(_AUDITORS)
    facts = {
        "Results": f"Revenue of the company came to {revenue} after all discounts.",
        "Investment": (
            f"Capital expenditure came to {capital}, most of it for the new site at {town}."
        ),
        "People": (
            f"The company had {staff} employees at the end of the year, and {joined} of them joined"
            " in it."
        ),
        "Audit": (
            f"The accounts were audited by {auditor}, who gave an opinion without reservations."
        ),
        "Outlook": "The company expects a year much like this one.",
    }
    qa_triples = [
        (f"What was the revenue of {firm} in {year}?", revenue, facts["Results"]),
        (f"What was the capital expenditure of {firm} in {year}?", capital, facts["Investment"]),
        (f"How many employees did {firm} have at the end of {year}?", staff, facts["People"]),
        (f"Who audited the accounts of {firm} for {year}?", auditor, facts["Audit"]),
    ]
    parts = [f"# {firm}, annual report {year}"]
    for section in _SECTIONS:
        sentences = [line.format(n=rng.randint(3, 12)) for line in rng.sample(_PADDING, 7)]
        sentences.insert(rng.randrange(len(sentences) + 1), facts[section])
        half = len(sentences) // 2
        parts += [f"## {section}", " ".join(sentences[:half]), " ".join(sentences[half:])]
    return "\n\n".join(parts) + "\n", qa_triples
