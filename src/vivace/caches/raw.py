"""Frames one after the other in a file, read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .base import damaged


def positions_from(path: Path, begin: int, count: int, vertices: int, kind: str) -> Iterator[np.ndarray]:
    """(n, 3) each, of a file that has them from byte `begin` on."""
    with path.open("rb") as file:
        file.seek(begin)
        for number in range(count):
            data = file.read(12 * vertices)
            if len(data) < 12 * vertices:
                raise damaged(path, f"it ends in frame {number}")
            yield np.frombuffer(data, kind).reshape(vertices, 3)
