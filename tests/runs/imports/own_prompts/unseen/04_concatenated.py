from anthropic import Anthropic

JUDGE_SYSTEM = (
    "You are a careful annotator. "
    "Your job is to say whether a retrieved chunk helps to answer a question.\n\n"
    "Count a chunk as helpful when it states a fact that belongs in the answer. "
    "Do not count a chunk that only mentions the same product."
)


def ask(client: Anthropic, row: dict) -> str:
    """Ask for one row."""
    content = (
        "Question: "
        + row["question"]
        + "\n\nChunk:\n"
        + row["chunk"]
        + "\n\nReply with HELPFUL or NOT HELPFUL."
    )
    return (
        client.messages.create(
            model="claude-sonnet",
            max_tokens=10,
            system=JUDGE_SYSTEM,
            messages=[{"role": "user", "content": content}],
        )
        .content[0]
        .text
    )
