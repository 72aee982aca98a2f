"""Hand a judge to other tools, one file for each target."""

from .judge_json import judge_json
from .judge_yaml import judge_yaml
from .messages import messages_json

__all__ = ["judge_json", "judge_yaml", "messages_json"]
