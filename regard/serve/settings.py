"""How the server is reached, by whom, and what it writes down."""

import hashlib
import hmac
import os
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from regard.core.errors import UserError
from regard.serve.limits import Limits

ENVIRONMENT = "REGARD_API_KEYS"
SHORTEST_KEY = 8


@dataclass(frozen=True, kw_only=True)
class Settings:
    host: str = "127.0.0.1"
    keys: tuple[str, ...] = field(default=(), repr=False)  # none: everybody who reaches the port is answered
    origins: tuple[str, ...] = ()  # of web pages that may send requests (CORS)
    limits: Limits = Limits()
    log_contents: bool = False  # write prompts into the log too


def read_keys(file: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """API keys, one a line of a file, or separated by commas in the environment."""
    texts = environment.get(ENVIRONMENT, "").split(",")
    if file is not None:
        try:
            texts += file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    keys = tuple(key for text in texts if (key := text.strip()) and not key.startswith("#"))
    if file is not None and not keys:
        raise UserError(f"{file}: holds no keys; write one on each line")
    if any(len(key) < SHORTEST_KEY or not key.isascii() for key in keys):
        raise UserError(f"API keys: each needs at least {SHORTEST_KEY} ASCII characters")
    return keys


def client_of(keys: tuple[str, ...], authorization: str) -> str | None:
    """Who sends a request, by its key; None: it has no valid key.

    A key is sent as `Bearer KEY`, or as the password of Basic, which is how a browser asks for one. Every key is
    compared, and each in a time that does not depend on where it differs.
    """
    scheme, _, sent = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            sent = b64decode(sent, validate=True).decode("utf-8").partition(":")[2]
        except ValueError:
            return None
    elif scheme.lower() != "bearer":
        return None
    matches = [hmac.compare_digest(key.encode(), sent.strip().encode("utf-8", "replace")) for key in keys]
    return hashlib.sha256(sent.strip().encode("utf-8", "replace")).hexdigest()[:12] if any(matches) else None
