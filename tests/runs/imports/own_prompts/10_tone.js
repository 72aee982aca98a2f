import OpenAI from 'openai';

const client = new OpenAI();
const THRESHOLD = 4;

const buildPrompt = (email, reply) => `
You review the tone of e-mails written by sales staff.

Good tone means:
- the customer is addressed by name
- no pressure, no exclamation marks in a row
- bad news is said plainly and once

Customer's e-mail:
${email}

Our reply:
${reply}

Score the tone from 1 (bad) to 5 (very good). Output a JSON object: {"score": number, "comment": string}
`;

export async function score(email, reply) {
  const response = await client.responses.create({ model: 'gpt-4.1', input: buildPrompt(email, reply) });
  return JSON.parse(response.output_text).score >= THRESHOLD;
}
