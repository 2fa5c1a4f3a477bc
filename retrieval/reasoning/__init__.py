"""What a complex query is really after, found out before it is searched."""

from retrieval.reasoning.reasoned import Reasoned, unrefined
from retrieval.reasoning.reasoner import Reasoner
from retrieval.reasoning.rules import by_rules

__all__ = ["Reasoned", "Reasoner", "by_rules", "unrefined"]
