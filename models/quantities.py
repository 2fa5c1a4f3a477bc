"""Numbers and moments, with the ranges they may take."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

# Beyond 2^53 JavaScript and many JSON readers lose digits.
MAX_SAFE_INTEGER: Final = 2**53 - 1

_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def _parsed(value: object) -> object:
    """Read RFC 3339 only: pydantic alone would also take "1700000000" for a moment.

    Without an offset it is refused: whose midnight it means is anybody's guess.
    """
    if not isinstance(value, str):
        return value
    try:
        if _RFC_3339.fullmatch(value):
            return datetime.fromisoformat(value.upper())
    except ValueError:
        pass
    raise PydanticCustomError(
        "not_rfc_3339",
        "Input should be an RFC 3339 date and time with its offset, such as 2026-11-16T09:30:00Z",
    )


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError(
            "moment_out_of_range", "Input should lie in the years 1 to 9999 in UTC"
        ) from None


Moment = Annotated[AwareDatetime, BeforeValidator(_parsed), AfterValidator(_in_utc)]
"""A point in time: read as RFC 3339 with its offset, held and written in UTC ("Z")."""

UnitInterval = Annotated[float, Field(ge=0, le=1)]
"""A score, confidence or quality."""

Propensity = Annotated[float, Field(gt=0, le=1)]
"""The probability with which the policy made the choice it made; learning divides by it."""

Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
"""A number of things, a position, a version."""

Milliseconds = Annotated[float, Field(ge=0)]
"""How long something took."""
