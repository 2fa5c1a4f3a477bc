"""Recursive decomposition: what one search would not find, several that build on each other do."""

from retrieval.decomposition.budget import Limits
from retrieval.decomposition.executor import Decomposition
from retrieval.decomposition.open import open_decomposition
from retrieval.decomposition.state import Findings, NothingFoundError, Task

__all__ = ["Decomposition", "Findings", "Limits", "NothingFoundError", "Task", "open_decomposition"]
