"""What must not be shown, whatever a part says of itself."""

from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from memstream.settings import Settings

LEAST = 4
"""What is shorter than so many characters is in too many words to be left out of them."""


def secrets_of(settings: Settings) -> list[str]:
    """Return every password, key and token of the settings, the longest first."""
    values = [getattr(settings, name) for name in Settings.model_fields]
    found = {one.get_secret_value() for one in values if isinstance(one, SecretStr)}
    for url in (settings.database, settings.embedder, settings.llm_base_url or ""):
        if written := password_of(url):
            found |= {written, unquote(written)}
    return sorted((one for one in found if len(one) >= LEAST), key=len, reverse=True)


def password_of(url: str) -> str | None:
    """Return the password in an address as it is written there, even if it cannot be read."""
    user, at, _ = url.partition("://")[2].rpartition("@")
    if at:
        return user.partition(":")[2] or None
    try:
        return urlsplit(url).password
    except ValueError:
        return None
