"""Check of generated case narratives (pharmacovigilance, ICSR)."""
import re
from string import Template

from pv_common.llm import complete

SEVERITIES = ("none", "minor", "major", "critical")

NARRATIVE_CHECK = Template(
    """You are a drug safety physician. A model wrote a case narrative from the source documents of an adverse event report. Compare the narrative with the source.

<source>
$source_documents
</source>

<narrative>
$narrative
</narrative>

Find the worst error in the narrative and classify it:

none: no error in content
minor: wording, order or abbreviation, without effect on the assessment
major: a date, dose, lab value or concomitant drug is wrong or missing
critical: the seriousness, the outcome, the causality or the suspect drug is wrong, or an event is invented

A price such as $$12 or an internal number that is left out is not an error.

Write your comparison in <comparison></comparison> tags and the class in <severity></severity> tags, e.g. <severity>minor</severity>.
"""
)


def check(source_documents: str, narrative: str) -> str | None:
    reply = complete(
        NARRATIVE_CHECK.substitute(source_documents=source_documents, narrative=narrative),
        max_tokens=1500,
    )
    m = re.search(r"<severity>\s*(\w+)\s*</severity>", reply)
    return m.group(1) if m and m.group(1) in SEVERITIES else None
