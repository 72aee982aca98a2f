import logging
import re

log = logging.getLogger(__name__)


class CompletenessGrader:
    """Grades meeting summaries. One call per summary, ~900 tokens."""

    name = "completeness"
    SYSTEM = "You are a strict but fair reviewer of meeting summaries."

    # old-style %s because str.format choked on the braces in transcripts
    PROMPT = (
        "Transcript of the meeting:\n"
        "%s\n\n"
        "Summary to review:\n"
        "%s\n\n"
        "Judge how complete the summary is.\n"
        "A complete summary names every decision, who has to do what, and until when.\n"
        "Small talk, jokes and technical problems with the call may be left out.\n"
        "Open questions that were postponed have to be mentioned too.\n"
        "Do not lower the grade for wording, only for things that are missing.\n\n"
        "Give a grade from 1 to 5. Write nothing after it.\n"
        "Grade:"
    )

    def __init__(self, llm):
        self.llm = llm

    def messages(self, transcript, summary):
        return [
            {"role": "system", "content": self.SYSTEM},
            {"role": "user", "content": self.PROMPT % (transcript, summary)},
        ]

    def __call__(self, transcript, summary):
        txt = self.llm(self.messages(transcript, summary))
        m = re.findall(r"[1-5]", txt)
        if not m:
            log.warning("no grade in %r", txt)
            return None
        return int(m[-1])
