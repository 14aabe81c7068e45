"""Recorded frames on the disk: a run of any length does not grow in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, overload

import numpy as np

from ..errors import FileError, InputError


class Spool(Sequence[np.ndarray]):
    """Arrays of one shape, appended to a file without a name in a folder, and read when somebody looks.

    The file is gone with the process, however that ends.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._shape: tuple[int, ...] = ()
        self._kind = np.dtype(np.float32)
        self._count = 0

    def append(self, array: np.ndarray) -> None:
        """One more frame."""
        try:
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  open as long as this is
                self._shape, self._kind = array.shape, array.dtype
            if array.shape != self._shape or array.dtype != self._kind:
                raise InputError(f"a frame must have the shape {self._shape}, not {array.shape}")
            self._file.seek(0, os.SEEK_END)
            self._file.write(np.ascontiguousarray(array).data)
        except OSError as error:
            raise FileError(
                f"cannot write to {self._folder}: {error.strerror or error}; choose another place"
            ) from error
        self._count += 1

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[np.ndarray]: ...

    def __getitem__(self, number: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        chosen = range(self._count)[number]
        if isinstance(chosen, range):
            return _Chosen(self, chosen)
        assert self._file is not None  # there is no frame without it
        size = int(np.prod(self._shape)) * self._kind.itemsize
        self._file.seek(chosen * size)
        return np.frombuffer(self._file.read(size), self._kind).reshape(self._shape)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(self._count))


@dataclass(frozen=True, eq=False)
class _Chosen(Sequence[np.ndarray]):
    """Some frames of a spool."""

    spool: Spool
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, number: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[np.ndarray]: ...

    def __getitem__(self, number: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        chosen = self.numbers[number]
        return _Chosen(self.spool, chosen) if isinstance(chosen, range) else self.spool[chosen]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.spool[k] for k in self.numbers)
