"""Keys: whoever has it may take part. A new one for every start, or one that stays, from a file or the environment.

A key on the command line would be in the list of processes, which everybody on the machine can read.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections import Counter
from itertools import pairwise
from pathlib import Path

from ..errors import FileError, InputError

VARIABLE = "VIVACE_KEY"
SHORTEST, LONGEST = 22, 200  # characters: 22 of base64 are 128 bits
LEAST_BITS = 60.0  # by how often characters occur, which counts too little: of 128 random bits, 70 to 98
LARGEST_FILE = 4096  # bytes
ADVICE = "leave it out, or make one: python -c 'import secrets; print(secrets.token_urlsafe(24))'"


def new_key() -> str:
    """192 random bits."""
    return secrets.token_urlsafe(24)


def check_key(key: str, what: str = "the key") -> str:
    """The key, if it can stand in an address and does not look like one that can be guessed; InputError if not.

    Nobody can tell chance from cunning: this catches short keys, words repeated and rows of letters. The error does not
    repeat the key.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.~-]*", key):
        raise InputError(f"{what} may have letters, digits and _ . ~ - only; {ADVICE}")
    if not SHORTEST <= len(key) <= LONGEST:
        raise InputError(f"{what} must have {SHORTEST} to {LONGEST} characters, not {len(key)}; {ADVICE}")
    if _bits(key) < LEAST_BITS or _repeats(key) or _is_row(key):
        raise InputError(f"{what} is too easy to guess; {ADVICE}")
    return key


def kept_key(path: Path) -> str:
    """The key in a file; a new one is written into it, for its owner's eyes only, if there is none."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise FileError(f"cannot make the key file {path}: {error.strerror or error}") from None
    key = new_key()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{key}\n")
    return key


def key_of_environment() -> str | None:
    """The key in VIVACE_KEY, if there is one. It is taken out, so that no process started later has it too."""
    key = os.environ.pop(VARIABLE, "").strip()
    return check_key(key, VARIABLE) if key else None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if os.name == "posix" and (mode := os.fstat(file.fileno()).st_mode) & 0o077:
                raise FileError(
                    f"others may read or change the key file {path} (its mode is {mode & 0o777:03o}): chmod 600 {path}"
                )
            text = file.read(LARGEST_FILE)
    except OSError as error:
        raise FileError(f"cannot read the key file {path}: {error.strerror or error}") from None
    return check_key(text.decode("ascii", "replace").strip(), f"the key in {path}")


def _bits(key: str) -> float:
    """Entropy of the characters as often as they are there, times how many there are."""
    return sum(-count * math.log2(count / len(key)) for count in Counter(key).values())


def _repeats(key: str) -> bool:
    """Whether it is a shorter text, again and again."""
    return any(key[period:] == key[:-period] for period in range(1, len(key) // 2 + 1))


def _is_row(key: str) -> bool:
    """Whether each character is as far from the last as that from the one before, for the most part."""
    steps = Counter(ord(b) - ord(a) for a, b in pairwise(key))
    return max(steps.values()) > len(key) / 2
