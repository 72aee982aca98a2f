// Checks machine translated delivery SMS before a template goes live.
const { callModel } = require("../lib/llm");

const PROMPT = [
  "You check translations of SMS templates of a parcel service.",
  "",
  "Target language: __LANGUAGE__",
  "Original (English): __ORIGINAL__",
  "Translation: __TRANSLATION__",
  "",
  "Find the most serious error in the translation and give its severity:",
  "0 = no error",
  "1 = minor (punctuation, slightly unnatural wording)",
  "2 = major (unclear or misleading for the recipient, wrong form of address)",
  "3 = critical (wrong day, time, place, amount, or a broken variable such as %ETA%)",
  "",
  "Describe the error in one line (or write 'none'). Second line:",
  "Severity: <0, 1, 2 or 3>",
].join("\n");

async function checkTranslation({ language, original, translation }) {
  const prompt = PROMPT
    .replace("__LANGUAGE__", language)
    .replace("__ORIGINAL__", original)
    .replace("__TRANSLATION__", translation);
  const reply = await callModel(prompt, { temperature: 0 });
  const m = reply.match(/Severity:\s*([0-3])/);
  if (!m) throw new Error(`Judge reply without severity: ${reply}`);
  return Number(m[1]);
}

module.exports = { checkTranslation };
