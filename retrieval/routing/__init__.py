"""Which searches are worth taking apart."""

from retrieval.routing.router import Router, Routing
from retrieval.routing.signals import complexity, signals

__all__ = ["Router", "Routing", "complexity", "signals"]
