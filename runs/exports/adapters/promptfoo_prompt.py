"""The messages of the judge in `judge.json`, for the grader beside this file: the decided cases
that stand before a row are chosen here, by Python's standard library.
"""

import json
import sys
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside


@cache
def judge():
    """Return the judge; promptfoo gives up on a file that takes long to load, as a large bank
    does.
    """
    return judge_beside(__file__)


def call_api(prompt, options, context):
    """Return the messages for a row, a JSON object of the judge's inputs."""
    return {"output": json.dumps(judge().messages(json.loads(prompt)))}
