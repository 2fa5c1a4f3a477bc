"""Ids and short names, and what they may be made of."""

from typing import Annotated, Final

from pydantic import Field

MAX_ID_CHARACTERS: Final = 256

# C0, DEL and C1. They break log lines and terminals, and PostgreSQL text cannot hold U+0000.
NO_CONTROL_CHARACTERS: Final = r"^[^\u0000-\u001f\u007f-\u009f]*$"

Identifier = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, pattern=NO_CONTROL_CHARACTERS)
]
"""The id of a tenant, session, user, request, event, memory; also a scope or an entity's name."""

EchoedIdentifier = Annotated[
    str, Field(max_length=MAX_ID_CHARACTERS, pattern=NO_CONTROL_CHARACTERS)
]
"""An id of a request in its answer; empty when the request was too broken to read it from."""
