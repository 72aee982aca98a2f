from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

SYSTEM = """You are a moderator of an online shooter with players from 13 years up. You rate chat messages on a severity scale from 0 to 4.

0: harmless, including normal trash talk about the game ("get rekt", "ez")
1: rude, swearing without a target
2: insult aimed at a player
3: harassment, repeated insults, slurs that are masked (n1..., f**)
4: threats, open slurs, sexual remarks, anything about a player's real life or address

Rate only the last message. The earlier messages are context. Friends who insult each other in fun get one level less."""

HUMAN = """Match history:
{history}

Message by {player}:
{message}

Answer in two lines:
Reason: <one sentence>
Severity: <0-4>"""

EXAMPLES = [
    ("human", "Match history:\n(none)\n\nMessage by kestrel:\nlol how did you miss that\n\nAnswer in two lines:\nReason: <one sentence>\nSeverity: <0-4>"),
    ("ai", "Reason: Teasing about a missed shot, no insult.\nSeverity: 0"),
    ("human", "Match history:\nPanda: sorry lag\n\nMessage by vx99:\nuninstall you useless idiot\n\nAnswer in two lines:\nReason: <one sentence>\nSeverity: <0-4>"),
    ("ai", "Reason: Direct insult aimed at Panda.\nSeverity: 2"),
]

prompt = ChatPromptTemplate.from_messages([("system", SYSTEM), *EXAMPLES, ("human", HUMAN)])
chain = prompt | ChatOpenAI(model="gpt-4o-mini", temperature=0) | StrOutputParser()


def severity(history: list[str], player: str, message: str) -> int:
    out = chain.invoke({"history": "\n".join(history) or "(none)", "player": player, "message": message})
    return int(out.rsplit("Severity:", 1)[1].strip()[0])
