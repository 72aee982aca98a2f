"""promptfoo's grader for a judge: a module for node that asks any of promptfoo's models and reads
the judge's reply.
"""

from __future__ import annotations

import json
from importlib.resources import files
from string import Template

from .source_text import comment_text
from .target import ExportContext

READER = "reply_reading.mjs"
"""The reader of replies; it lies beside the grader, as it does beside this file."""

_GRADER = Template("""\
// $origin
// Written by Judgewright. Asks the model of promptfoo that `config.provider` names, and reads the judge's reply.

import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

import { readReply } from './$reader';

const JUDGE = $judge;
const FIELDS = $fields;
const REPLY_FORM = $form; // what a reply looks like
const { low: LOW, high: HIGH } = REPLY_FORM;

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
      const { score, rationale } = read(response);
      const reason = rationale || `the judge's grade is $${score}`;
      return { ...response, output: { score: (score - LOW) / (HIGH - LOW), reason } };
    } catch (problem) {
      return { ...response, output: undefined, error: `$${JUDGE}: $${problem.message}` };
    }
  }
}

const CALLS = ['function', 'arguments', 'tool_calls', 'function_call'];

/** promptfoo has read a reply that is JSON where its model was given a response format, and of a call of a tool. */
function read({ output, finishReason, isRefusal }) {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
  const called = Array.isArray(output) || CALLS.some((name) => output instanceof Object && name in output);
  return readReply(text, REPLY_FORM, called ? 'tool_calls' : finishReason ?? '', isRefusal ? text || 'refused' : null);
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
""")  # noqa: E501


def promptfoo_grader(context: ExportContext) -> str:
    """Return the grader's code; constants stand in it as JSON."""
    prompt = context.prompt
    return _GRADER.substitute(
        origin=comment_text(context.origin),
        reader=READER,
        judge=_js(f"{prompt.name}@{prompt.version}"),
        fields=_js(prompt.inputs),
        form=_js(prompt.reply_form),
    )


def reply_reader() -> str:
    """Return the reader of replies in JavaScript."""
    return (files("judgewright.runs.exports") / READER).read_text(encoding="utf-8")


def _js(value: object) -> str:
    """Write a constant in ASCII, so that no sign in it can turn a line of code around."""
    return json.dumps(value)
