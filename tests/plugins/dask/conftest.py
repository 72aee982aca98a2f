"""The databases that workers share: the stores of the core's tests."""

from ...runs.store.conftest import database, store

__all__ = ["database", "store"]
