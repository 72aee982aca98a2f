from .chunk_index import CONTEXTS, ChunkIndex, Context
from .chunking import CHUNKERS, Chunk, Chunker, Chunking, covered, cut
from .clarification import Clarified, Interpretation, Judges, clarify_queries
from .comparison import Grader, Outcome, Setup, SetupResult, compare_setups
from .documents import Document, Question, read_documents, read_questions
from .grading import (
    Agreement,
    GivenAnswer,
    GradedAnswers,
    compare_grades,
    correctness_inputs,
    grade_answers,
)
from .sample_reports import write_reports

__all__ = [
    "CHUNKERS",
    "CONTEXTS",
    "Agreement",
    "Chunk",
    "ChunkIndex",
    "Chunker",
    "Chunking",
    "Clarified",
    "Context",
    "Document",
    "GivenAnswer",
    "GradedAnswers",
    "Grader",
    "Interpretation",
    "Judges",
    "Outcome",
    "Question",
    "Setup",
    "SetupResult",
    "clarify_queries",
    "compare_grades",
    "compare_setups",
    "correctness_inputs",
    "covered",
    "cut",
    "grade_answers",
    "read_documents",
    "read_questions",
    "write_reports",
]
