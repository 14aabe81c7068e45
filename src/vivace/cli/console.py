"""What a person sees while work goes on. Results go to standard output; progress and notes to standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

BARS = 8  # a comparison has dozens of kinds of work, and a screen has few lines


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str, int, int | None], None]]:
    """A function (what, done, total) that draws one bar for each kind of work, the last few of them.

    What has to be compiled has a line of its own: the first run of a scene may wait a minute for it.
    """
    from ..backends.cpu.compiling import ABOUT, compilation, is_first_time

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=err, disable=quiet, transient=False) as bars:
        tasks: dict[str, TaskID] = {}
        first = is_first_time()

        def tell(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                if len(tasks) == BARS:
                    bars.remove_task(tasks.pop(next(name for name in tasks if name)))
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        def compiling(name: str) -> None:
            if "" not in tasks:
                tasks[""] = bars.add_task("", total=ABOUT if first else None)
            task = bars.tasks[bars.task_ids.index(tasks[""])]
            total = task.total if task.total is not None and task.completed < task.total else None
            bars.update(tasks[""], advance=1, total=total, description=f"compiling for this machine, once: {name}")

        with compilation(compiling):
            yield tell


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; columns but the first are numbers, and stand to the right."""
    if not out.is_terminal:
        out.width = max(out.width, 160)  # a file is as wide as its tables
    table = Table(title=Text(title), title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left", overflow="ellipsis" if k else "fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    out.print(table)


def show_json(value: object) -> None:
    """Print a value as JSON; numbers that JSON does not have, such as infinity, become null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def show_written(
    files: Sequence[tuple[Sequence[Path], Sequence[str]]], summary: Mapping[str, object] | None = None
) -> None:
    """Say which files were written, each with notes, or print them as JSON with a summary."""
    written = list(dict.fromkeys(path for paths, _ in files for path in paths))
    notes = list(dict.fromkeys(note for _, told in files for note in told))
    if summary is not None:
        show_json({**summary, "written": [str(path) for path in written], "notes": notes})
        return
    for path in written:
        out.print(f"wrote {path}", markup=False, soft_wrap=True)
    for note in notes:
        err.print(f"note: {note}", markup=False, soft_wrap=True)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _plain(value: object) -> object:
    """Strict JSON: numbers that JSON does not have become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
