"""What a sweep leaves in its folder, and takes up again.

    sweep.json          what was asked for
    runs.jsonl          one line a run that is finished, in the order in which they were
    runs.csv            the table: one row a run, in the order of the sweep (or runs.parquet)
    pictures/KEY.png    the last frame of a run
    contact-sheet.png   all of them

A line is on the disk before the next run counts as finished, and after its picture. Whenever the process is killed,
there is at most one line that is not whole, the last; it is cut off by whoever goes on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .._version import __version__
from ..bench.tables import table_format
from ..errors import FileError, InputError
from ..files import replacing, write_text
from .plan import Plan
from .task import Done, Row

JOURNAL, ASKED, PICTURES, SHEET = "runs.jsonl", "sweep.json", "pictures", "contact-sheet.png"
TABLE = "runs.csv"
LONGEST_LINE = 1 << 24  # bytes


class Results:
    """The folder of a sweep, which one process writes to at a time.

    Args:
        folder: where.
        plan: whose runs count.
        resume: keep what is there; else a folder with runs in it is refused.
        table: the name of the table, which says its format.

    Attributes:
        rows: of the runs of the plan that are finished, by key.
    """

    def __init__(self, folder: Path, plan: Plan, *, resume: bool = False, table: str = TABLE):
        self.folder, self.plan = folder, plan
        self.table = folder / table
        if self.table.name != table or not table:
            raise InputError(f"the table of a sweep has a name without a folder, not {table!r}")
        table_format(self.table).check()
        self._wanted = {task.key: task for task in plan.tasks}
        self.rows: dict[str, Row] = {}
        self._file = self._opened()
        try:
            found = self._read()
            if found and not resume:
                raise InputError(
                    f"{folder} has a sweep already, with {found} finished runs; go on with it by --resume "
                    "(resume=True), or choose another folder"
                )
            write_text(folder / ASKED, json.dumps({"vivace": __version__, **plan.asked}, indent=2, default=str) + "\n")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def left(self) -> list[Any]:
        """The tasks that are not done yet."""
        return [task for task in self.plan.tasks if task.key not in self.rows]

    def add(self, done: Done) -> bool:
        """A run is finished: on the disk when this returns. False if it had been already."""
        if done.key in self.rows or done.key not in self._wanted:
            return False
        try:
            if done.picture:
                with replacing(self.picture(done.key)) as temporary:
                    temporary.write_bytes(done.picture)
            line = json.dumps({"key": done.key, "row": _strict(done.row)}, allow_nan=False, default=str) + "\n"
            self._file.write(line.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise FileError(
                f"cannot write to {self.folder}: {error.strerror or error}; choose another place"
            ) from error
        self.rows[done.key] = done.row
        return True

    def in_order(self) -> list[Row]:
        """The rows there are, in the order of the plan and with its numbers and values."""
        found = []
        for task in self.plan.tasks:
            if task.key in self.rows:
                row = self.rows[task.key]
                found.append({**row, "run": task.number, **task.varied, "seed": task.seed})
        return found

    def write_table(self) -> Path | None:
        """The table of the rows there are; None where there are none."""
        rows = self.in_order()
        if not rows:
            return None
        table_format(self.table).write(self.table, [_flat(row) for row in rows])
        return self.table

    def picture(self, key: str) -> Path:
        """Where the picture of a run is, if it has one."""
        return self.folder / PICTURES / f"{key}.png"

    def _opened(self) -> Any:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / JOURNAL).open("ab+")
        except OSError as error:
            raise FileError(
                f"cannot write to {self.folder}: {error.strerror or error}; choose another place"
            ) from error
        with suppress(ImportError):  # not on Windows
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.close()
                raise FileError(f"another sweep writes to {self.folder} now; wait for it, or choose another") from error
            except OSError:
                pass  # a file system without locks
        return file

    def _read(self) -> int:
        """Take the runs of the plan from the journal; how many there are of any. Half a line at its end is removed."""
        self._file.seek(0)
        count, whole = 0, 0
        while line := self._file.readline(LONGEST_LINE):
            if not line.endswith(b"\n"):
                break
            whole = self._file.tell()
            found = _line(line)
            if found is not None:
                count += 1
                if found[0] in self._wanted:
                    self.rows[found[0]] = found[1]
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)
        return count


def _line(line: bytes) -> tuple[str, Row] | None:
    """Key and row of a line; None for one that was spoilt, whose run is made again."""
    try:
        found = json.loads(line)
        key, row = found["key"], found["row"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (key, row) if isinstance(key, str) and isinstance(row, dict) else None


def _strict(row: Row) -> Row:
    """What JSON has: numbers that are not finite become null."""
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}


def _flat(row: Row) -> Row:
    """A row whose values fit a cell: lists and tables as text."""
    return {name: json.dumps(v, default=str) if isinstance(v, list | tuple | dict) else v for name, v in row.items()}


def sheets(results: Results) -> tuple[Sequence[Path], Sequence[str]]:
    """The pictures of the runs that have one, in order, and what to write under each: the values that make it."""
    paths, labels = [], []
    several = len({task.seed for task in results.plan.tasks}) > 1
    for task in results.plan.tasks:
        path = results.picture(task.key)
        if task.key in results.rows and path.is_file():
            said = [f"{name} {_short(value)}" for name, value in task.varied.items()]
            paths.append(path)
            labels.append("  ".join([*said, *([f"seed {task.seed}"] if several else [])]) or f"run {task.number}")
    return paths, labels


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
