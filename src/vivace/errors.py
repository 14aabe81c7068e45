"""The errors a user can meet. Each message names the value that was wrong and says what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VivaceError(Exception):
    """Base class: everything this package raises on purpose."""


class InputError(VivaceError, ValueError):
    """A value, mesh, scene or option cannot be used; nothing has been changed."""


class UnknownNameError(InputError):
    """A name is not registered; the message suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known) or 'none'}."
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class FileError(VivaceError, OSError):
    """A file cannot be read or written; an existing file has been left as it was."""


class MissingExtraError(VivaceError, ImportError):
    """An optional library is not installed; the message says which extra brings it."""

    def __init__(self, what: str, extra: str):
        super().__init__(f'{what} needs an optional library: pip install "vivace[{extra}]"')
