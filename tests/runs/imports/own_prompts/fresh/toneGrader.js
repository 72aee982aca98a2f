const { callModel } = require('./callModel');

// tone of voice = brand book p. 14
function tonePrompt(transcript, brandName) {
  return `You are the brand manager of ${brandName}. Read the chat between a customer and our shopping assistant.

${transcript}

Only look at the lines starting with BOT:

We talk like a good neighbour: short sentences, no corporate words ("valued customer", "at your earliest convenience").
Never blame the customer, also not indirectly ("as already stated above").
Max. one exclamation mark in the whole chat; no emojis when somebody complains
If the customer is angry the first BOT sentence has to pick that up.

One slip is okay, two are not.

Verdict: write GOOD if this could go on our website as an example, otherwise BAD. Put the verdict in the first line, the reasons below it as bullet points.`;
}

async function gradeTone(transcript) {
  const out = await callModel(tonePrompt(transcript, 'Nordlicht Outdoor'));
  const first = out.trim().split('\n')[0];
  return /good/i.test(first) ? 1 : 0;
}

module.exports = { gradeTone, tonePrompt };
