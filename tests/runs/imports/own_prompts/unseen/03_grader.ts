import type { ChatCompletionMessageParam } from 'openai/resources';

/** Don't change without telling the support team. */
export interface Sample { ticket: string; draft: string }

export function buildMessages(sample: Sample): ChatCompletionMessageParam[] {
  return [
    {
      role: 'system',
      content: `You are a QA lead reading drafts of support agents.

A draft is good enough to send if:
* it solves the ticket or says who will
* it doesn't ask for data that the ticket already contains
* it has no internal links

Return JSON like {"pass": true, "reason": "..."} and nothing else.`,
    },
    {
      role: 'user',
      content: `Ticket:\n${sample.ticket}\n\nDraft:\n${sample.draft}`,
    },
  ];
}
