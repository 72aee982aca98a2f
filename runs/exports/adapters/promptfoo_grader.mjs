// Asks the model of promptfoo that `config.provider` names with the judge in judge.json, and reads its reply.

import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { readReply } from './reply_reading.mjs';

const judge = JSON.parse(readFileSync(new URL('judge.json', import.meta.url), 'utf8'));
const NAME = `${judge.name}@${judge.version}`;
const { low, high } = judge.form;
// chooses the decided cases that stand before a row, where the judge has any
const CASES = `python:${fileURLToPath(new URL('promptfoo_prompt.py', import.meta.url))}`;
let chooser; // one for all rows: promptfoo makes a grader for each, and the bank is read and counted once

export default class Judge {
  constructor({ config }) {
    this.config = config;
  }

  id() {
    return NAME;
  }

  async callApi(prompt, context, options) {
    const given = (name) => (context.vars[name] ?? null) !== null;
    const replaced = (name) =>
      name === judge.inputs.at(-1) && context.vars[name] === undefined && given('output');
    const missing = judge.inputs.find((name) => !given(name) && !replaced(name));
    if (missing) {
      return { error: `${NAME}: the test has no variable ${missing}` };
    }
    this.model ??= load(this.config);
    if (judge.cases) {
      const row = judge.inputs.map((name) => [name, context.vars[replaced(name) ? 'output' : name]]);
      chooser ??= load({ provider: CASES });
      const made = await (await chooser).callApi(JSON.stringify(Object.fromEntries(row)), context);
      if (made.error) {
        return { error: `${NAME}: ${made.error}` };
      }
      prompt = made.output;
    }
    const response = await (await this.model).callApi(prompt, context, options);
    if (response.error) {
      return response;
    }
    try {
      const { score, rationale } = read(response);
      const reason = rationale || `the judge's grade is ${score}`;
      return { ...response, output: { score: (score - low) / (high - low), reason } };
    } catch (problem) {
      return { ...response, output: undefined, error: `${NAME}: ${problem.message}` };
    }
  }
}

const CALLS = ['function', 'arguments', 'tool_calls', 'function_call'];

/** promptfoo has read a reply that is JSON where its model was given a response format, and of a call of a tool. */
function read({ output, finishReason, isRefusal }) {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
  const called = Array.isArray(output) || CALLS.some((name) => output instanceof Object && name in output);
  const ending = called ? 'tool_calls' : (finishReason ?? '');
  return readReply(text, judge.form, ending, isRefusal ? text || 'refused' : null);
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
