from .chunk_index import CONTEXTS, ChunkIndex, Context
from .chunking import CHUNKERS, Chunker, Chunking, covered, cut
from .comparison import Grader, Outcome, Setup, SetupResult, compare_setups
from .documents import Document, Question, read_documents, read_questions
from .grading import GivenAnswer, correctness_inputs, grade_answers
from .sample_reports import write_reports

__all__ = [
    "CHUNKERS",
    "CONTEXTS",
    "ChunkIndex",
    "Chunker",
    "Chunking",
    "Context",
    "Document",
    "GivenAnswer",
    "Grader",
    "Outcome",
    "Question",
    "Setup",
    "SetupResult",
    "compare_setups",
    "correctness_inputs",
    "covered",
    "cut",
    "grade_answers",
    "read_documents",
    "read_questions",
    "write_reports",
]
