"""What happens from frame to frame, on linear axes: the stages of a step on top of each other, and plain lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .palette import OKABE_ITO
from .plots import (
    FAINT,
    INK,
    Panel,
    Settings,
    _curve,
    _figure,
    _legend,
    _line,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Neighbours in the stack differ in lightness too, so that a print in grey can be read.
STACK = tuple(OKABE_ITO[k] for k in (0, 4, 2, 5, 1, 3, 7, 6))
HATCHES = ("", "//", "..", "\\\\")  # where there are more stages than colours


def stacked_stages(
    path: str | os.PathLike[str],
    panels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    budget_ms: float | None = None,
    first: int = 1,
    xlabel: str = "frame",
    settings: Settings = None,
) -> None:
    """Milliseconds of each stage over the frames, stacked; a panel for each title, one legend.

    `panels` maps a title to {stage: milliseconds of each frame}; the first stage lies at the bottom. `budget_ms`: a
    dashed line at what a frame may take. `first`: the number of the first frame.
    """
    if not panels:
        raise InputError("there are no stages to draw")
    if budget_ms is not None and not 0 < budget_ms < np.inf:
        raise InputError(f"the budget must be a positive number of milliseconds, not {budget_ms!r}")
    stacks = {title: _stack(title, stages) for title, stages in panels.items()}
    names = list(dict.fromkeys(name for stages in panels.values() for name in stages))
    figure, grid = _figure(len(panels), 1, (7.2, 2.7 * len(panels)))
    for axes, (title, stack) in zip(grid.flat, stacks.items(), strict=True):
        frames = np.arange(first, first + stack.shape[1])
        drawn = [names.index(name) for name in panels[title]]
        areas = axes.stackplot(
            *(np.append(frames, frames[-1] + 1) - 0.5, np.column_stack([stack, stack[:, -1]])),
            labels=list(panels[title]),
            colors=[STACK[k % len(STACK)] for k in drawn],
            step="post",  # a frame is a bar of its own: nothing happens between two
            linewidth=0.3,
            edgecolor="white",
        )
        for area, k in zip(areas, drawn, strict=True):
            area.set_hatch(HATCHES[k // len(STACK) % len(HATCHES)])
        if budget_ms is not None:
            axes.axhline(budget_ms, color=INK, linestyle="--", linewidth=1.2, label=f"budget, {budget_ms:.3g} ms")
        axes.set_xlim(frames[0] - 0.5, frames[-1] + 0.5)
        axes.set_ylim(0, 1.05 * max(_high(stack.sum(axis=0)), budget_ms or 0.0))
        _finish(axes, title, xlabel, "ms")
    _legend(figure, grid.flat)
    save_figure(figure, path, settings)


def timelines(path: str | os.PathLike[str], rows: Sequence[Sequence[Panel]], *, settings: Settings = None) -> None:
    """Panels in rows, on linear axes from zero, with one legend: a name has the same colour in all of them."""
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.curves))
    if not names:
        raise InputError("there are no curves to draw")
    across = max(map(len, rows))
    figure, grid = _figure(len(rows), across, (max(4.6 * across, 5.6), 2.9 * len(rows)))
    for axes in grid.flat:
        axes.set_visible(False)
    for axes, panel in [(grid[i, k], panel) for i, row in enumerate(rows) for k, panel in enumerate(row)]:
        axes.set_visible(True)
        for name, curve in panel.curves.items():
            _line(axes, *_curve(name, curve), name, names.index(name))
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        _finish(axes, panel.title, panel.xlabel, panel.ylabel)
    _legend(figure, grid.flat)
    save_figure(figure, path, settings)


def _stack(title: str, stages: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """(stages, frames), tested."""
    arrays = [np.asarray(values, float) for values in stages.values()]
    if not arrays or any(array.ndim != 1 or not len(array) for array in arrays):
        raise InputError(f"{title!r} needs a stage, and each stage a row of milliseconds, one a frame")
    if len({len(array) for array in arrays}) > 1:
        sizes = ", ".join(f"{name} {len(array)}" for name, array in zip(stages, arrays, strict=True))
        raise InputError(f"the stages of {title!r} have different numbers of frames: {sizes}")
    stack = np.array(arrays)
    if not np.isfinite(stack).all() or (stack < 0).any():
        raise InputError(f"milliseconds of {title!r} must be finite and not negative; leave such frames out")
    return stack


def _high(totals: NDArray[Any]) -> float:
    """The top of the axes: a single frame that was held up does not flatten the others."""
    return min(float(totals.max()), 2.0 * float(np.percentile(totals, 95))) or 1.0


def _finish(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    if title:
        axes.set_title(title, fontsize=10.5, color=INK)
    axes.set_xlabel(xlabel, fontsize=9.5, color=INK)
    axes.set_ylabel(ylabel, fontsize=9.5, color=INK)
    axes.tick_params(labelsize=8.5, colors=INK)
    axes.grid(True, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
