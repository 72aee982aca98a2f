// Run a promptfoo export with promptfoo's own command line and its OpenAI provider: `promptfoo.mjs EXPORT CASES ANSWER`.

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

const [folder, cases, answer] = process.argv.slice(2);
const { judge, rows, replies, url, model, many = [] } = JSON.parse(readFileSync(cases, 'utf8'));

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
  const env = { ...process.env, ...quiet, PROMPTFOO_CONFIG_DIR: at('.promptfoo'), NO_COLOR: '1', OPENAI_API_KEY: 'none' };
  const entry = path.join(path.dirname(main), 'entrypoint.js');
  return spawnSync(process.execPath, [entry, ...words], { cwd: scratch, env, encoding: 'utf8' });
}

const valid = promptfoo('validate', '-c', 'promptfooconfig.yaml');
if (valid.status !== 0) {
  throw new Error(`promptfoo does not take the configuration: ${valid.stderr || valid.stdout}`);
}

// every row with the first reply, then the first row with every reply; each has an endpoint of its own
const config = load(readFileSync(at('promptfooconfig.yaml'), 'utf8'));
const grader = config.defaultTest.options.provider;
const asked = grader.config.provider;
const cased = [...rows, ...Array.from({ length: replies }, () => rows[0])];
config.tests = cased.map((row, number) => {
  const at = { ...asked, id: `openai:chat:${model}`, config: { ...asked.config, apiBaseUrl: `${url}/case/${number}/v1` } };
  const provider = { ...grader, config: { ...grader.config, provider: at } };
  return { vars: { ...row, judgewright_case: number }, options: { provider } };
});
writeFileSync(at('tests.json'), JSON.stringify(config.tests));
config.tests = 'file://tests.json';
writeFileSync(at('verify.yaml'), dump(config));
const run = promptfoo('eval', '-c', 'verify.yaml', '--no-cache', '--no-write', '--no-table', '-o', 'out.json');
if (!existsSync(at('out.json'))) {
  throw new Error(`promptfoo did not judge: ${run.stderr || run.stdout}`);
}

const outcomes = cased.map(() => ({ score: null, said: 'promptfoo gave no result' }));
const own = cased.map(() => 0); // what promptfoo averages
const { results } = JSON.parse(readFileSync(at('out.json'), 'utf8'));
for (const { vars, gradingResult, error, score } of results.results) {
  own[vars.judgewright_case] = score;
  const [result] = gradingResult?.componentResults ?? [];
  const failed = !result || result.metadata?.graderError;
  outcomes[vars.judgewright_case] = failed
    ? { score: null, said: String(result?.reason ?? error ?? 'no score').slice(0, 300) }
    : { score: result.score, positive: result.pass };
}
const mean = many.reduce((sum, number) => sum + own[number], 0) / many.length;
const problems = results.stats.errors ? [`promptfoo tells of ${results.stats.errors} errors, and the manifest of none`] : [];
const tool = `promptfoo ${version}, node ${process.versions.node}`;
writeFileSync(answer, JSON.stringify({ tool, notes: [], problems, outcomes, many: { by: "promptfoo's eval", mean } }));
