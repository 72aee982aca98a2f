// prompts for the legal search POC
// eslint-disable-next-line max-len

export const QUERY_REWRITE_PROMPT = (query) => `Rewrite the query of a paralegal into three search queries, one per line. Keep paragraph numbers as they are.

Query: ${query}`;

export const CONTEXT_PRECISION_PROMPT = (query, passage) => `You see ONE passage from our case-law database and the query that found it.

QUERY
${query}

PASSAGE
${passage}

How well does the passage fit the query?
3: it answers the query directly, with the same legal question and the same kind of facts
2: same legal question, but other facts, still worth reading
1: only shares keywords or the same paragraph number
0: has nothing to do with it

A passage from a dissenting opinion can get 2 at most. Headnotes count the same as full text.
The age of the decision is irrelevent.

Return JSON:
{
  "result": {
    "grade": <0|1|2|3>,
    "quote": "the words in the passage that decided it, max 20 words"
  },
  "flags": []
}
flags may contain "dissent" and/or "truncated".`;

export function averageGrade(results) {
  return results.reduce((s, r) => s + r.result.grade, 0) / results.length;
}
