from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

SYSTEM = (
    "You are a data engineer who reviews SQL generated for business users of a retail "
    "warehouse (Snowflake dialect). You decide whether running the query would return what "
    "the user asked for."
)

HUMAN = """Schema:
{schema}

Question of the business user:
{question}

Generated SQL:
{sql}

Check joins (fan-out!), filters, date ranges, grouping and whether returns are excluded when
net sales are asked for. Formatting and aliases don't matter.

The first word of your reply must be CORRECT or INCORRECT. After that, explain the problem,
if there is one, so that an analyst can fix the query."""

prompt = ChatPromptTemplate.from_messages([("system", SYSTEM), ("human", HUMAN)])

judge = prompt | ChatOpenAI(model="gpt-4o", temperature=0) | StrOutputParser()


def is_correct(schema: str, question: str, sql: str) -> bool:
    reply = judge.invoke({"schema": schema, "question": question, "sql": sql})
    return reply.strip().upper().startswith("CORRECT")
