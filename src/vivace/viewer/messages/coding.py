"""Messages as text: checked on the way in, plain on the way out."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import msgspec

from ...errors import InputError
from .from_page import FROM_PAGE, FromPage
from .to_page import ToPage


def decode(text: str | bytes) -> FromPage:
    """A message from the page, every value checked; InputError says what is wrong with it."""
    if isinstance(text, bytes):
        raise InputError("messages from the page are text")
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError) as error:
        raise InputError(f"not a message: {error}") from None
    kind = raw.pop("type", None) if isinstance(raw, dict) else None
    cls = FROM_PAGE.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise InputError(f"not a message: its type must be one of {', '.join(FROM_PAGE)}")
    known = {item.name for item in fields(cls)}
    for key in raw:
        if key not in known:
            raise InputError(f"{kind} has no {key[:40]!r}")
    try:
        return msgspec.convert(raw, cls)
    except msgspec.ValidationError as error:
        raise InputError(f"{kind}: {error}") from None


def encode(message: ToPage) -> str:
    """A message as JSON, for the page."""
    return json.dumps(plain(message))


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON has it, with its type."""
    return {"type": message.type, **asdict(message)}
