import { z } from "zod";
import { llm } from "../lib/llm";

export interface JudgeInput {
  question: string;
  expected: string;
  actual: string;
}

const Verdict = z.object({
  explanation: z.string(),
  verdict: z.enum(["correct", "incorrect"]),
});

// keep explanation BEFORE verdict, otherwise the model justifies afterwards (EVAL-218)
const prompt = ({ question, expected, actual }: JudgeInput) => `
You grade answers of the parking-permit chatbot of our city.

Question:
${question}

Expected answer:
${expected}

Actual answer:
${actual}

The actual answer is correct if a citizen who follows it does the same thing as with the expected answer.
- fees must match to the cent, "about 30 €" for 30.70 € is incorrect
- different order of documents to bring along is ok
- a link instead of the explanation is incorrect, unless the expected answer is also a link
- if the expected answer lists several options, at least the ones for residents have to be there

Respond with JSON in exactly this shape, no markdown:
{ "explanation": "...", "verdict": "correct" | "incorrect" }
`;

export async function judgeCorrectness(input: JudgeInput) {
  const raw = await llm(prompt(input), { temperature: 0, json: true });
  return Verdict.parse(JSON.parse(raw));
}
