"""Contexts: the memories that help with a query, packed into a token budget."""

from retrieval.context.assembly import Assembled, Assembly
from retrieval.context.packing import Packed, pack
from retrieval.context.tokens import count_tokens

__all__ = ["Assembled", "Assembly", "Packed", "count_tokens", "pack"]
