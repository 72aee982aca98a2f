import { generateText } from "ai";
import { openai } from "@ai-sdk/openai";

export type Rating = "poor" | "fair" | "good" | "excellent";

const SYSTEM = "You are a maintainer of a large open source project. Be strict but fair.";

export function commitPrompt(diff: string, commitMessage: string) {
  return `Rate the commit message for the diff.

Diff:
\`\`\`diff
${diff}
\`\`\`

Commit message:
${commitMessage}

Scale:
- poor: wrong or meaningless ("fix stuff", describes something the diff doesn't do)
- fair: right topic, but doesn't say what changed
- good: says what changed, subject line under 72 characters
- excellent: says what changed and why, imperative mood, nothing superfluous

Answer with JSON in this shape and nothing else:
{
  "evaluation": {
    "rating": "good",
    "why": "..."
  },
  "suggestedSubject": "..."
}`;
}

export async function judgeCommit(diff: string, commitMessage: string): Promise<Rating> {
  const { text } = await generateText({
    model: openai("gpt-4o"),
    system: SYSTEM,
    prompt: commitPrompt(diff, commitMessage),
  });
  const parsed = JSON.parse(text);
  console.log(`[judge] ${parsed.evaluation.rating}`);
  return parsed.evaluation.rating;
}
