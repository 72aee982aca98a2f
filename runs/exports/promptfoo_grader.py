"""promptfoo's grader for a judge: a module for node that asks any of promptfoo's models and reads the judge's reply."""

from __future__ import annotations

import json
import re
from string import Template

from ...judges import JudgePrompt, OutputScale
from .judge_module import score_names
from .source_text import comment_text
from .target import ExportContext

_GRADER = Template("""\
// $origin
// Written by Judgewright. Asks the model of promptfoo that `config.provider` names, and reads the judge's reply.

import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const JUDGE = $judge;
const FIELDS = $fields;
const SCORES = $scores; // the reply's field with the grade
const TEXTS = $texts; // those with the reasons
const [LOW, HIGH] = $ends;
const GRADES = new Map(Object.entries($grades)); // a probability has none

export default class Judge {
  constructor({ config }) {
    this.config = config;
  }

  id() {
    return JUDGE;
  }

  async callApi(prompt, context, options) {
    const given = (name) => (context.vars[name] ?? null) !== null;
    const replaced = (name) => name === FIELDS.at(-1) && context.vars[name] === undefined && given('output');
    const missing = FIELDS.find((name) => !given(name) && !replaced(name));
    if (missing) {
      return { error: `$${JUDGE}: the test has no variable $${missing}` };
    }
    this.model ??= load(this.config);
    const response = await (await this.model).callApi(prompt, context, options);
    if (response.error) {
      return response;
    }
    try {
      const { grade, reason } = read(response.output);
      return { ...response, output: { score: (grade - LOW) / (HIGH - LOW), reason } };
    } catch (problem) {
      return { ...response, output: undefined, error: `$${JUDGE}: $${problem.message}` };
    }
  }
}

async function load({ provider, basePath }) {
  const { loadApiProvider } = await promptfoo();
  const options = typeof provider === 'string' ? { id: provider } : provider;
  return loadApiProvider(options.id, { options, basePath });
}

async function promptfoo() {
  try {
    return await import('promptfoo');
  } catch {
    // npx and a global promptfoo are not found from here, but they are what runs
    const running = createRequire(realpathSync(process.argv[1]));
    return import(pathToFileURL(running.resolve('promptfoo')).href);
  }
}

function read(output) {
  const thinking = /^\\s*<think(?:ing)?>[^]*?<\\/think(?:ing)?>/i;
  const fields = typeof output === 'string' ? fieldsOf(output.replace(thinking, '')) : output;
  const found = SCORES.map((one) => at(fields, one)).find((one) => one !== undefined && one !== null);
  if (found === undefined) {
    throw new Error('the reply has no grade');
  }
  const reason = TEXTS.map((one) => at(fields, one)).filter(Boolean).join('\\n');
  return { grade: gradeOf(found), reason: reason || `the judge's grade is $${found}` };
}

function at(fields, path) {
  return Object.hasOwn(fields ?? {}, path) ? fields[path] : path.split('.').reduce((o, key) => o?.[key], fields);
}

$parser
$grade_of
""")

_PARSE_JSON = """\
function fieldsOf(text) {
  return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
}
"""

_PARSE_LINE = """\
function fieldsOf(text) {
  const line = /^[\\s*_>#-]*(?:final |overall )?(?:score|grade|rating|verdict|label|answer)[\\s*_]*[:=](.+)$/gim;
  const value = [...text.matchAll(line)].at(-1)?.[1] ?? text;
  return { score: bare(value) };
}

function bare(text) {
  return text.replace(/^[\\s*_`"'([{>]+|[\\s*_`"'.)\\]}<]+$/g, '')<out of>;
}
"""

_PARSE_MARK = """\
function fieldsOf(text) {
  const mark = [...text.matchAll(new RegExp(<before>, 'gi'))].at(-1);
  if (mark === undefined) return lineOf(text);
  return { score: bare(text.slice(mark.index + mark[0].length).trimStart().split(<after>)[0]) };
}

"""

_PARSE_PLACE = """\
function fieldsOf(text) {
  const line = lineOf(text);
  return line.score === bare(text) ? { score: bare(<place>) } : line;
}

"""

_GRADE_OF_WORD = """\
function gradeOf(value) {
  const word = String(value).trim();
  const grade = GRADES.get(word) ?? GRADES.get(word.toLowerCase());
  if (grade === undefined || typeof value === 'object') {
    throw new Error(`${word.slice(0, 100)} is not on the scale`);
  }
  return grade;
}
"""

_GRADE_OF_SHARE = """\
function gradeOf(value) {
  const share = typeof value === 'string' && value.trim() ? Number(value) : value;
  if (typeof share !== 'number' || !(share >= 0 && share <= 1)) {
    throw new Error(`${String(value).slice(0, 100)} is not a probability`);
  }
  return share;
}
"""


def promptfoo_grader(context: ExportContext) -> str:
    """Return the grader's code; constants stand in it as JSON."""
    prompt, scale = context.prompt, context.prompt.scale
    schema = prompt.reply_schema
    words = grade_words(scale)
    return _GRADER.substitute(
        origin=comment_text(context.origin),
        judge=_js(f"{prompt.name}@{prompt.version}"),
        fields=_js(prompt.inputs),
        scores=_js(score_names(prompt)),
        texts=_js([name for name, kind in schema.items() if kind == "text"]),
        ends=_js([scale.low, scale.high]),
        grades=_js(words),
        parser=_PARSE_JSON if schema else _parse_line(prompt).replace("<out of>", _out_of(scale)),
        grade_of=(_GRADE_OF_WORD if words else _GRADE_OF_SHARE).rstrip(),
    )


def _parse_line(prompt: JudgePrompt) -> str:
    """Return the reading of a plain-text reply: at the prompt's own mark, else at the last line with a verdict."""
    before, after = prompt.mark_sides
    line = _PARSE_LINE.replace("fieldsOf", "lineOf")
    if before:
        words = re.sub(r"[^\w\s]", lambda sign: "\\" + sign.group(), before.removesuffix(":").rstrip())
        pattern = re.sub(r"\s+", r"\\s+", words) + r"\s*:" * before.endswith(":")
        values = {"before": _js(pattern), "after": _js(after or "\n")}
        mark = _PARSE_MARK
        for name, value in values.items():
            mark = mark.replace(f"<{name}>", value)
        return mark + line
    if prompt.reply_mark:
        first, last = "text.trim().split('\\n')[0].split(/[,.;:!]/)[0]", "text.trim().split('\\n').at(-1)"
        return _PARSE_PLACE.replace("<place>", first if prompt.reply_mark == "start" else last) + line
    return _PARSE_LINE


def _out_of(scale: OutputScale) -> str:
    """Return what drops the end of `4/5`."""
    plain = scale.kind == "graded" and not scale.labels
    return f".replace(/\\s*[/]\\s*{scale.high}$/, '')" if plain else ""


def grade_words(scale: OutputScale) -> dict[str, float]:
    """Return the grade of every word that stands for one; none for a probability, which is a number."""
    if scale.kind == "probability":
        return {}
    if scale.kind == "graded" and not scale.labels:
        return {str(level): float(level) for level in range(scale.low, scale.high + 1)}
    words = {label: float(grade) for grade, label in enumerate(scale.labels)}
    lower = [label.lower() for label in scale.labels]
    for grade, word in enumerate(lower):
        if lower.count(word) == 1:
            words.setdefault(word, float(grade))
    if scale.kind == "binary":
        for grade, usual in enumerate((("no", "false", "0", "negative"), ("yes", "true", "1", "positive"))):
            for word in usual:
                words.setdefault(word, float(grade))
    return words


def _js(value: object) -> str:
    """Write a constant in ASCII, so that no sign in it can turn a line of code around."""
    return json.dumps(value)
