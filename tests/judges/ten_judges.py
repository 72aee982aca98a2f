"""Ten judges of a user's own, as unlike one another as YAML lets them be."""

from judgewright.judges import JudgePrompt, load_prompt

HEAD = "format: 1\nname: own\n"
PLAIN = "template: |-\n  Answer:\n  {{answer}}\nreply: 'Write Score: N.'\n"
THIRTY = ", ".join(f"topic{n}" for n in range(30))
JUDGES = {
    "named labels": """\
system: You grade answers.
criteria: How helpful is the answer?
scale:
  {kind: graded, low: 0, high: 2, threshold: 1, labels: [poor, fair, good],
   anchors: {poor: No help., fair: Some help., good: All that was asked.}}
""",
    "no anchors": """\
system: You grade answers.
criteria: From 1, useless, to 5, perfect.
scale: {kind: graded, low: 1, high: 5, threshold: 4}
""",
    "eleven grades": """\
system: You grade answers.
criteria: From 0 to 10.
scale: {kind: graded, low: 0, high: 10, threshold: 5}
""",
    "binary in words": """\
system: You check answers.
criteria: Is the answer polite?
scale: {kind: binary, threshold: 1, labels: [rude, polite], anchors: {rude: It insults.}}
""",
    "thirty labels": f"""\
system: You sort answers.
criteria: Which topic is it?
scale: {{kind: choice, threshold: 1, labels: [{THIRTY}]}}
""",
    "low is good": """\
system: You look for danger.
criteria: How likely is the answer harmful?
scale: {kind: probability, threshold: 0.5, low_is_good: true}
""",
    "criteria in the system text": """\
system: "You are strict.\\n{{criteria}}\\nThat is all."
criteria: Is every claim backed?
scale: {kind: binary, threshold: 1}
""",
    "decided cases": """\
system: You check answers.
criteria: Is the answer right?
scale: {kind: binary, threshold: 1}
cases:
  count: 2
  rows:
  - {inputs: {answer: Two and two is four.}, label: 1}
  - {inputs: {answer: Two and two is five.}, label: 0}
""",
    "fixed cases": """\
system: You check answers.
criteria: Is the answer right?
scale: {kind: binary, threshold: 1}
cases:
  by: fixed
  rows:
  - {inputs: {answer: Four.}, label: 1}
  - {inputs: {answer: Five.}, label: 0}
""",
    "three inputs, JSON": """\
system: You compare.
criteria: Does the answer fit question and source?
scale: {kind: graded, low: 0, high: 3, threshold: 2}
template: "{{question}} {{source}} {{answer}}"
reply: Answer in JSON.
reply_schema: {reasons: text, score: score, confidence: confidence}
""",
}


def own_judge(name: str) -> JudgePrompt:
    """Return one of them."""
    text = JUDGES[name]
    return load_prompt(HEAD + text + ("" if "template:" in text else PLAIN), origin=name)
