import logging

log = logging.getLogger(__name__)
USAGE = "usage: grade.py ROWS OUT"

SYSTEM_PROMPT = """You grade summaries of news articles for factual consistency.

A summary is consistent if the article backs up everything it says. Rounding a number is fine, changing it is not.
A summary that leaves something out is still consistent."""  # noqa: E501

USER_PROMPT = """Article:
{article}

Summary:
{summary}

Is the summary consistent with the article? Answer yes or no."""


def messages(article, summary):
    return [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": USER_PROMPT.format(article=article, summary=summary)},
    ]
