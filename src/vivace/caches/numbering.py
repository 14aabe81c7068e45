"""Files with numbers: one a frame, in a folder of their own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..checks import shown
from ..errors import FileError, InputError


@dataclass(frozen=True)
class Numbered:
    """Names of files in a folder, with a number each."""

    folder: Path
    before: str
    digits: int
    after: str

    @classmethod
    def of(cls, path: Path) -> Numbered:
        """Of a path with `#` for each digit: walk/cloth-####.obj."""
        found = re.fullmatch(r"([^#]*)(#+)([^#]*)", path.name)
        if found is None or "#" in str(path.parent):
            raise InputError(
                f"{path.suffix} files hold one frame each; say where the number goes, in a folder of their own: "
                f"{path.with_suffix('').name.replace('#', '') or 'frames'}/####{path.suffix}, not {shown(str(path))}"
            )
        if not path.parent.name:
            raise InputError(f"frames need a folder of their own: frames/{path.name}, not {shown(str(path))}")
        return cls(path.parent, found[1], len(found[2]), found[3])

    def name(self, number: int) -> str:
        """Of a frame."""
        return f"{self.before}{number:0{self.digits}d}{self.after}"

    def number(self, name: str) -> int | None:
        """Of the frame that a file is; None if it is none."""
        found = re.fullmatch(rf"{re.escape(self.before)}([0-9]{{{self.digits},9}}){re.escape(self.after)}", name)
        return None if found is None else int(found[1])

    def files(self) -> list[Path]:
        """All frames that are there, in their order."""
        try:
            names = os.listdir(self.folder)
        except OSError as error:
            raise FileError(f"cannot read {self.folder}: {error.strerror or error}") from error
        found = sorted((number, name) for name in names if (number := self.number(name)) is not None)
        return [self.folder / name for _, name in found]

    def check_writable(self) -> None:
        """Refuse a folder that holds anything else: it is replaced as a whole."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise FileError(f"cannot write {self.folder}: it is a file; choose another name")
        foreign = sorted(name for name in os.listdir(self.folder) if self.number(name) is None)
        if foreign:
            raise FileError(
                f"cannot write frames to {self.folder}: it is replaced as a whole, and holds other things "
                f"({foreign[0]}); choose a folder of their own"
            )


def pattern_in(folder: Path, suffixes: list[str]) -> Path:
    """The pattern of the numbered files in a folder, all of one kind."""
    found: dict[str, int] = {}
    for name in os.listdir(folder):
        parts = re.fullmatch(r"(.*?)([0-9]+)(\.[A-Za-z]+)", name)
        if parts and parts[3].lower() in suffixes:
            # Padded numbers have as many digits as the shortest of them.
            digits = min(len(parts[2]), found.get(key := f"{parts[1]}\0{parts[3]}", len(parts[2])))
            found[key] = digits
    if len(found) != 1:
        what = "no numbered files" if not found else f"{len(found)} sequences"
        raise FileError(f"cannot read {folder}: it holds {what} ({', '.join(suffixes)}); name one: {folder}/####.obj")
    ((key, digits),) = found.items()
    before, after = key.split("\0")
    return folder / f"{before}{'#' * digits}{after}"
