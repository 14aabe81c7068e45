"""What the tables of a scene file may contain, and what is said about those that contain something else."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError


def read_description(path: Path) -> dict[str, Any]:
    """What a scene file says, as data."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # also a number of 5000 digits, and brackets 1000 deep
        raise InputError(f"{path} is not a valid TOML file: {error}") from error


def table_of(path: Path, data: dict[str, Any], name: str) -> dict[str, Any]:
    """The table of that name; empty where there is none."""
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name} must be a table, written [{name}]")
    return table


def check_known(path: Path, where: str, found: Mapping[str, object], known: Iterable[str]) -> None:
    """Refuse entries that mean nothing: most are misspelt."""
    known = sorted(known)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{path}: {where} has an unknown entry {key!r}; known: {', '.join(known)}{hint}")
