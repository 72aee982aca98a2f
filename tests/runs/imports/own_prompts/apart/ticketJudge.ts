import OpenAI from "openai";
import { Ticket } from "../types";
import { logger } from "../lib/logger";

const openai = new OpenAI({ apiKey: process.env.OPENAI_API_KEY });

export interface JudgeResult {
  evaluation: {
    accuracy: number;
    tone: number;
    actionability: number;
    overall: number;
  };
  comment: string;
}

const SYSTEM = "You are a support team lead at a B2B software company and review draft replies before they are sent.";

function judgePrompt(ticket: Ticket, draft: string, kbArticles: string): string {
  return `Ticket subject: ${ticket.subject}
Customer plan: ${ticket.plan}

Ticket:
${ticket.body}

Relevant articles from the knowledge base:
${kbArticles}

Draft reply:
${draft}

Rate the draft from 1 (poor) to 5 (excellent) on
- accuracy: everything agrees with the articles
- tone: friendly, no blame, fits the customer's mood
- actionability: the customer knows what to do next

and give an overall rating from 1 to 5. The overall rating is your judgement whether you would send this draft; an inaccurate draft never gets more than 2 overall.

Return a JSON object of this shape:
{
  "evaluation": { "accuracy": 4, "tone": 5, "actionability": 3, "overall": 4 },
  "comment": "one sentence for the agent"
}`;
}

export async function judgeDraft(ticket: Ticket, draft: string, kbArticles: string): Promise<JudgeResult> {
  const completion = await openai.chat.completions.create({
    model: "gpt-4o-mini",
    temperature: 0,
    response_format: { type: "json_object" },
    messages: [
      { role: "system", content: SYSTEM },
      { role: "user", content: judgePrompt(ticket, draft, kbArticles) },
    ],
  });
  const result = JSON.parse(completion.choices[0].message.content ?? "{}") as JudgeResult;
  logger.info(`ticket ${ticket.id}: overall ${result.evaluation?.overall}`);
  return result;
}
