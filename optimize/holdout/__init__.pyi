from .confusable_letters import letters_of
from .decision_record import Decision
from .gate import decide
from .guards import hold_guard
from .ledger import Ledger, seen_rows, split_with_memory
from .power import guard_needs, perfect_gain, smallest_gain
from .row_fingerprints import Overlap, RowFingerprints, row_keys
from .text_fingerprints import LETTERS, WINDOW, Fingerprints, winnow
from .unanswered import ROUNDS, Ask, AskedAgain, ask_again, count_against

__all__ = [
    "LETTERS",
    "ROUNDS",
    "WINDOW",
    "Ask",
    "AskedAgain",
    "Decision",
    "Fingerprints",
    "Ledger",
    "Overlap",
    "RowFingerprints",
    "ask_again",
    "count_against",
    "decide",
    "guard_needs",
    "hold_guard",
    "letters_of",
    "perfect_gain",
    "row_keys",
    "seen_rows",
    "smallest_gain",
    "split_with_memory",
    "winnow",
]
