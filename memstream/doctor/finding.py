"""What an examination found out about one part of a deployment."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """How one part is, and what to do about it."""

    state: State
    part: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        told = " ".join(f"{self.part}: {self.what}".split())
        return f"{self.state:4}  {told}" + (f" — {self.remedy}" if self.remedy else "")

    def without(self, secrets: Iterable[str]) -> "Finding":
        """Return the same with nothing in it that must not be shown."""
        what, remedy = self.what, self.remedy
        for secret in secrets:
            what, remedy = what.replace(secret, "…"), remedy.replace(secret, "…")
        return Finding(self.state, self.part, what, remedy)


def ok(part: str, what: str, remedy: str = "") -> Finding:
    """Return that a part is well."""
    return Finding("ok", part, what, remedy)


def warn(part: str, what: str, remedy: str) -> Finding:
    """Return that a part works, but not as one would think."""
    return Finding("warn", part, what, remedy)


def fail(part: str, what: str, remedy: str) -> Finding:
    """Return that a part does not work."""
    return Finding("fail", part, what, remedy)
