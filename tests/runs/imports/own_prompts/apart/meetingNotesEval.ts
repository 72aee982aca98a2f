import { generateObject } from "ai";
import { openai } from "@ai-sdk/openai";
import { z } from "zod";

const schema = z.object({
  coverage: z.number().int().min(1).max(10).describe("All decisions and action items are in the notes"),
  accuracy: z.number().int().min(1).max(10).describe("Nothing in the notes contradicts the transcript"),
  conciseness: z.number().int().min(1).max(10).describe("No small talk, no repetition"),
  overall: z.number().int().min(1).max(10).describe("Overall quality, the number we report"),
  comment: z.string(),
});

interface Sample {
  transcript: string;
  attendees: string;
  notes: string;
}

export async function evalNotes({ transcript, attendees, notes }: Sample) {
  const { object } = await generateObject({
    model: openai("gpt-4o-mini"),
    schema,
    prompt: `You evaluate automatically written meeting notes.

People in the meeting: ${attendees}

Transcript:
${transcript}

Notes:
${notes}

Score coverage, accuracy and conciseness from 1 (very bad) to 10 (perfect). Then give an overall
score from 1 to 10. An action item assigned to the wrong person means overall can't be above 5.

Return JSON with the keys coverage, accuracy, conciseness, overall and comment.`,
  });
  return object;
}

export function summarize(scores: number[]) {
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
  return `mean overall ${mean.toFixed(2)} (n=${scores.length})`;
}
