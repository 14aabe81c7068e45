"""How far something is, said where somebody looks: below the cell of a notebook, or in a line of the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ..errors import InputError

Progress = Callable[[int, int | None], None]
EVERY_S = 0.2


def shown_progress(progress: Progress | bool | None, label: str) -> Progress | None:
    """What tells how far it is: a function as it is; True: a bar in a notebook, or a line on a terminal."""
    if progress is True:
        return Bar(label)
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise InputError(f"progress is True, or a function of (done, total), not {progress!r}")
    return progress


class Bar:
    """Says how much of how many frames there is, and how long the rest will take; at most five times a second."""

    def __init__(self, label: str, clock: Callable[[], float] = time.monotonic):
        self._label, self._clock = label, clock
        self._begun, self._told = clock(), -EVERY_S
        self._handle: Any = None
        self._display = notebook_display()

    def __call__(self, done: int, total: int | None) -> None:
        """So much is done."""
        now = self._clock()
        if done != total and now - self._told < EVERY_S:
            return
        self._told = now
        text = self._text(done, total, now - self._begun)
        if self._display is not None:
            self._show(text, done, total)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{text}" + ("\n" if done == total else ""))
            sys.stderr.flush()

    def _text(self, done: int, total: int | None, spent: float) -> str:
        if total is None:
            return f"{self._label}: {done} frames, {spent:.0f} s"
        left = "" if not done or done == total else f", {spent / done * (total - done):.0f} s left"
        return (
            f"{self._label}: {done} of {total}{left}" if left or not done else f"{self._label}: {done} in {spent:.1f} s"
        )

    def _show(self, text: str, done: int, total: int | None) -> None:
        bar = f'<progress value="{done}" max="{total}"></progress> ' if total and done != total else ""
        bundle = {"text/plain": text, "text/html": f"{bar}<small>{text}</small>"}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def notebook_display() -> Any:
    """What shows things below a cell, where this is a notebook; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    return display
