"""What formats of one file a frame have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .base import About, CacheFormat, Content, check_promise, damaged
from .numbering import Numbered
from .told import apply_told


class SequenceFrame(NamedTuple):
    """One frame: positions (n, 3) float32, triangles (m, 3), UVs (n, 2) or None, and what the file says of itself."""

    positions: np.ndarray
    triangles: np.ndarray
    uvs: np.ndarray | None
    told: dict[str, Any]

    @classmethod
    def of(cls, path: Path, vertices: Any, triangles: Any, uvs: Any, told: dict[str, Any]) -> SequenceFrame:
        """Of what was read, if it fits together."""
        try:
            positions = np.array(vertices, np.float32).reshape(len(vertices), 3)
            corners = np.array(triangles, np.int64).reshape(len(triangles), 3)
            texture = np.array(uvs, np.float32).reshape(len(uvs), 2)
        except (ValueError, OverflowError):
            raise damaged(path, "its rows have not the lengths they need") from None
        if not len(positions) or (len(corners) and not 0 <= corners.min() <= corners.max() < len(positions)):
            raise damaged(path, f"its faces do not fit its {len(positions)} vertices")
        return cls(positions, corners.astype(np.int32), texture if len(texture) == len(positions) else None, told)


class Sequenced(CacheFormat):
    """A format of one file a frame."""

    sequence = True

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._numbered = Numbered.of(Path("frames") / name)

    @abstractmethod
    def write_frame(self, path: Path, positions: np.ndarray, time: float) -> None:
        """Write one file."""

    @classmethod
    @abstractmethod
    def read_frame(cls, path: Path) -> SequenceFrame:
        """Read one file."""

    @classmethod
    def read_positions(cls, path: Path) -> np.ndarray:
        """(n, 3) of one file, whose faces are known from another."""
        return cls.read_frame(path).positions

    def write(self, positions: np.ndarray, time: float) -> None:
        """Write the next file."""
        self.write_frame(self.folder / self._numbered.name(self.written), positions, time)

    def finish(self) -> None:
        """All are there."""

    @classmethod
    def content(cls, path: Path) -> Content:
        """The frames of a pattern; the first one's faces are those of all."""
        files = Numbered.of(path).files()
        if not files:
            raise damaged(path, "there are no such files")
        first = cls.read_frame(files[0])
        size = sum(file.stat().st_size for file in files)
        check_promise(path, len(files), len(first.positions), size)
        content = Content(len(files), len(first.positions), cls._frames(files), first.triangles, uvs=first.uvs)
        return apply_told(content, first.told)

    @classmethod
    def _frames(cls, files: list[Path]) -> Iterator[np.ndarray]:
        count = None
        for file in files:
            positions = cls.read_positions(file)
            if count is not None and len(positions) != count:
                raise damaged(file, f"it has {len(positions)} vertices, and the first frame {count}")
            count = len(positions)
            yield positions
