from .calls import CallStore, CallSummary
from .database import Database
from .jobs import Job, JobQueue
from .journal import RunJournal, create_run, find_run, get_run, list_runs, set_state
from .labels import LabelRecord, LabelStore, NewLabel, counting_records
from .ledger import HoldoutLedger
from .run_command import command_of
from .run_config import PROPOSERS, RunConfig, open_proposers
from .schema import MIGRATIONS, Migration
from .sqlite_database import SqliteDatabase
from .workspace import Workspace

__all__ = [
    "MIGRATIONS",
    "PROPOSERS",
    "CallStore",
    "CallSummary",
    "Database",
    "HoldoutLedger",
    "Job",
    "JobQueue",
    "LabelRecord",
    "LabelStore",
    "Migration",
    "NewLabel",
    "RunConfig",
    "RunJournal",
    "SqliteDatabase",
    "Workspace",
    "command_of",
    "counting_records",
    "create_run",
    "find_run",
    "get_run",
    "list_runs",
    "open_proposers",
    "set_state",
]
