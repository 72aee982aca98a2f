from .chunking import CHUNKERS, Chunk, Chunker, Chunking, covered, cut
from .comparison import CONTEXTS, Context, Grader, Outcome, Setup, SetupResult, compare_setups
from .documents import Document, Question, read_documents, read_questions
from .grading import Agreement, GivenAnswer, GradedAnswers, compare_grades, correctness_inputs, grade_answers

__all__ = [
    "CHUNKERS",
    "CONTEXTS",
    "Agreement",
    "Chunk",
    "Chunker",
    "Chunking",
    "Context",
    "Document",
    "GivenAnswer",
    "GradedAnswers",
    "Grader",
    "Outcome",
    "Question",
    "Setup",
    "SetupResult",
    "compare_grades",
    "compare_setups",
    "correctness_inputs",
    "covered",
    "cut",
    "grade_answers",
    "read_documents",
    "read_questions",
]
