from .chat_data import ChatData, chat_data, student_prompt
from .student import Student, read_student, write_student
from .text_features import FEATURES, TextPair, WordWeights
from .training import StudentSettings, Trained, train_student

__all__ = [
    "FEATURES",
    "ChatData",
    "Student",
    "StudentSettings",
    "TextPair",
    "Trained",
    "WordWeights",
    "chat_data",
    "read_student",
    "student_prompt",
    "train_student",
    "write_student",
]
