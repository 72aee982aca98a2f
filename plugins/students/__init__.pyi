from .chat_data import ChatData, chat_data, student_prompt
from .screening import SCREENS, ScreenedAt, screen_at, screened
from .student import Student, read_student, write_student
from .text_features import FEATURES, TextPair, WordWeights
from .training import StudentSettings, Trained, train_student

__all__ = [
    "FEATURES",
    "SCREENS",
    "ChatData",
    "ScreenedAt",
    "Student",
    "StudentSettings",
    "TextPair",
    "Trained",
    "WordWeights",
    "chat_data",
    "read_student",
    "screen_at",
    "screened",
    "student_prompt",
    "train_student",
    "write_student",
]
