"""The console: pages for the people who run memstream, and the JSON that they read."""

from memstream.console.access import Access, access_of
from memstream.console.site import Console

__all__ = ["Access", "Console", "access_of"]
