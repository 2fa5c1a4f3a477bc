"""Headers of messages, and what codes of errors mean."""

from typing import Any, Final, get_args

from docs.generate.tables import code, table
from learning.labelling import REASONS
from models import ErrorCode
from topics.asyncapi_headers import DEAD_LETTER_HEADERS, EVENT_HEADERS

CODES: Final = {
    "invalid_request": "The message is not what its topic carries; the error names the field.",
    "unauthorized": "The token is missing, forged, expired or of an unknown key.",
    "forbidden": "The token holds, but does not allow this tenant, layer or topic.",
    "too_large": "The message, or a field of it, is larger than is taken.",
    "unavailable": "A part that is needed is away; the same request may work later.",
    "internal": "It failed in a way that nobody foresaw; the log has the traceback.",
}
LETTERS: Final = {
    "dangling": "A signal whose search never came, or whose outcome is closed.",
    "late": "A signal that came after its search could be corrected, or a message that is older "
    "than `MEMSTREAM_INBOX_RETENTION_S`.",
}


def header_lines() -> list[str]:
    """Return the headers of what services write, and of dead letters."""
    lines = ["", "## Headers", "", "Of what services write; those of an answer are echoed:"]
    lines += table(("header", "meaning"), _described(EVENT_HEADERS))
    lines += ["", "Of dead letters, beside those of the original (without its token):"]
    return [*lines, *table(("header", "meaning"), _described(DEAD_LETTER_HEADERS))]


def code_lines() -> list[str]:
    """Return the codes of errors in answers and of dead letters."""
    if (set(CODES), set(LETTERS)) != (set(get_args(ErrorCode)), set(REASONS)):
        raise ValueError(f"say in {__name__} what each code means, and no others")
    answers = [(code(name), meaning) for name, meaning in CODES.items()]
    letters = [(code(name), meaning) for name, meaning in LETTERS.items()]
    lines = ["", "## Error codes", "", "Of answers (`error.code`) and of dead letters:"]
    lines += table(("code", "meaning"), answers)
    return [*lines, "", "Of dead letters only:", *table(("code", "meaning"), letters)]


def _described(headers: dict[str, Any]) -> list[tuple[str, str]]:
    return [(code(name), one["description"]) for name, one in headers["properties"].items()]
