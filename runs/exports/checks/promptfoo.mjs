// Run a promptfoo export with promptfoo's own command line on a fake model: `promptfoo.mjs EXPORT CASES ANSWER`.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// whoever runs this reads the last line of what it says
process.on('uncaughtException', (problem) => {
  console.error(String(problem.message).trim().split(/\s*\n\s*/).join(' '));
  process.exit(1);
});

const FAKE = `
import { appendFileSync } from 'node:fs';
export default class Fake {
  constructor({ config }) { this.config = config; }
  id() { return 'fake'; }
  async callApi(prompt, context) {
    const number = context.vars.judgewright_case;
    appendFileSync(this.config.calls, JSON.stringify({ number, prompt }) + '\\n');
    return { output: this.config.replies[number] };
  }
}
`;

const [folder, cases, answer] = process.argv.slice(2);
const { judge, rows, replies } = JSON.parse(readFileSync(cases, 'utf8'));
const { rule } = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));

// promptfoo lies beside this node, or where NODE_PATH says
const require = createRequire(process.execPath);
const main = require.resolve('promptfoo');
const { load, dump } = createRequire(main)('js-yaml');
const { version } = JSON.parse(readFileSync(path.join(path.dirname(main), '..', '..', 'package.json'), 'utf8'));

const scratch = mkdtempSync(path.join(tmpdir(), 'promptfoo-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const at = (name) => path.join(scratch, name);
cpSync(folder, scratch, { recursive: true });

function promptfoo(...words) {
  const quiet = { PROMPTFOO_DISABLE_TELEMETRY: '1', PROMPTFOO_DISABLE_UPDATE: '1', PROMPTFOO_DISABLE_REMOTE_GENERATION: '1' };
  const env = { ...process.env, ...quiet, PROMPTFOO_CONFIG_DIR: at('.promptfoo'), NO_COLOR: '1' };
  const entry = path.join(path.dirname(main), 'entrypoint.js');
  return spawnSync(process.execPath, [entry, ...words], { cwd: scratch, env, encoding: 'utf8' });
}

const valid = promptfoo('validate', '-c', 'promptfooconfig.yaml');
if (valid.status !== 0) {
  throw new Error(`promptfoo does not take the configuration: ${valid.stderr || valid.stdout}`);
}

// every row with the first reply, then the first row with every reply
const tests = [...rows, ...replies.map(() => rows[0])].map((row, number) => ({ vars: { ...row, judgewright_case: number } }));
const modelReplies = [...rows.map(() => replies[0]), ...replies];
const config = load(readFileSync(at('promptfooconfig.yaml'), 'utf8'));
writeFileSync(at('fake.mjs'), FAKE);
writeFileSync(at('tests.json'), JSON.stringify(tests));
config.tests = 'file://tests.json';
config.defaultTest.options.provider.config.provider = {
  id: pathToFileURL(at('fake.mjs')).href,
  config: { replies: modelReplies, calls: at('calls.jsonl') },
};
writeFileSync(at('verify.yaml'), dump(config));
const run = promptfoo('eval', '-c', 'verify.yaml', '--no-cache', '--no-write', '--no-table', '-o', 'out.json');
if (!existsSync(at('out.json')) || !existsSync(at('calls.jsonl'))) {
  throw new Error(`promptfoo did not judge: ${run.stderr || run.stdout}`);
}

const rendered = [];
for (const line of readFileSync(at('calls.jsonl'), 'utf8').trim().split('\n')) {
  const { number, prompt } = JSON.parse(line);
  if (number < rows.length) {
    rendered[number] = JSON.parse(prompt).map(({ role, content }) => ({ role, content }));
  }
}

// A score whose decision is not the rule's is reported as no score: promptfoo's users read the decision.
const { low, high, threshold } = judge.scale;
const notes = [];
const scores = replies.map(() => null);
for (const { vars, gradingResult } of JSON.parse(readFileSync(at('out.json'), 'utf8')).results.results) {
  const number = vars.judgewright_case - rows.length;
  const [result] = gradingResult?.componentResults ?? [];
  if (number < 0 || !result || result.metadata?.graderError) {
    continue;
  }
  const limit = result.assertion.threshold;
  const passes = result.score >= (rule.calibration ? limit : (threshold - low) / (high - low));
  if (typeof limit !== 'number') {
    notes.push(`the score ${result.score} ${result.pass ? 'passes' : 'fails'}, and the rubric has no threshold`);
  } else if (result.pass !== passes) {
    notes.push(`the score ${result.score} ${result.pass ? 'passes' : 'fails'}, unlike under the judge's rule`);
  } else {
    scores[number] = result.score;
  }
}
writeFileSync(answer, JSON.stringify({ tool: `promptfoo ${version}, node ${process.versions.node}`, rendered, scores, notes }));
