"""Plots of what was measured. Agg figures made by hand: no window, and none of pyplot's global state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .animation import _written, provenance
from .palette import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Settings = Mapping[str, Any] | None

INK = "#222222"
FAINT = "#D9D9D9"
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*X"
LARGEST_ERROR = 1e3  # a run this far off has diverged; drawing how far would flatten every other line
CELLS = 512
INCHES_A_LETTER = 0.075  # of a legend, on average


def save_figure(figure: Figure, path: str | os.PathLike, settings: Settings = None) -> None:
    """Write a figure to .png, .pdf or .svg, whole, with its settings inside and no date, so that bytes repeat."""
    import matplotlib

    path = Path(path)
    text = provenance(settings)
    inside = {
        ".png": {"vivace": text, "Software": None},
        ".pdf": {"Keywords": text, "CreationDate": None},
        ".svg": {"Description": text, "Date": None},
    }
    kind = path.suffix.lower()
    if kind not in inside:
        raise InputError(f"a plot is written as .png, .pdf or .svg, not {path.suffix or 'a name without a suffix'!r}")
    with _written(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "vivace", "axes.unicode_minus": False}):
        figure.savefig(temporary, format=kind[1:], dpi=160, metadata=inside[kind])


def adjacency_before_after(
    path: str | os.PathLike,
    indptr: ArrayLike,
    indices: ArrayLike,
    orders: Mapping[str, tuple[ArrayLike, ArrayLike, str]],
    *,
    settings: Settings = None,
) -> None:
    """Sparsity of a graph (CSR) as it came, then reordered by each colouring.

    `orders` maps an algorithm's name to (order, colour_pointers, title): order[k] is the vertex in place k, and colour
    c holds the places from colour_pointers[c] to colour_pointers[c + 1]. Big matrices show density, not single entries.
    """
    pointers, columns = np.asarray(indptr, dtype=np.int64), np.asarray(indices, dtype=np.int64)
    count = len(pointers) - 1
    if count < 1:
        raise InputError("the graph has no vertices to draw")
    rows = np.repeat(np.arange(count), np.diff(pointers))
    across = min(1 + len(orders), 4)
    down = -(-(1 + len(orders)) // across)
    figure, grid = _figure(down, across, (3.3 * across, 3.65 * down))
    panels = [("", np.arange(count), None, "as given"), *((n, *entry) for n, entry in orders.items())]
    for axes, (name, order, boundaries, title) in zip(grid.flat, panels, strict=False):
        order = np.asarray(order, dtype=np.int64)
        if len(order) != count or (np.bincount(order, minlength=count) != 1).any():
            raise InputError(f"the order of {name!r} is not a permutation of the {count} vertices")
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count)
        axes.imshow(
            _density(place[rows], place[columns], count),
            cmap=_ink_map(),
            vmin=0,
            vmax=1,
            extent=(0, count, count, 0),
            interpolation="nearest",
        )
        if boundaries is not None:
            inner = np.asarray(boundaries)[1:-1]
            for draw in (axes.axhline, axes.axvline):
                for boundary in inner if len(inner) <= 64 else ():  # more lines than that would hide the matrix
                    draw(boundary, color=OKABE_ITO[1], linewidth=0.6, alpha=0.8)
        axes.set_title(title or name, fontsize=9.5, color=INK)
        axes.set_xlabel(f"column, of {count:,}", fontsize=8, color=INK)
        axes.set_ylabel("row", fontsize=8, color=INK)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#888888")
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    save_figure(figure, path, settings)


def error_against_time(
    path: str | os.PathLike,
    curves: Mapping[float, Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]]],
    *,
    time_step: float | None = None,
    settings: Settings = None,
) -> None:
    """Relative error over an animation: one panel for each budget in milliseconds, one line for each solver.

    A curve is an array with one error a frame (`time_step` in seconds turns frames into simulated time), or a pair
    (simulated seconds, errors). A line ends in a cross where its run diverged: an error
    that is not finite, or above LARGEST_ERROR.
    """
    if not any(len(lines) for lines in curves.values()):
        raise InputError("there are no curves to draw")
    across = min(len(curves), 2)
    down = -(-len(curves) // across)
    figure, grid = _figure(down, across, (4.6 * across, 3.1 * down + 0.4), sharey=True)
    solvers = list(dict.fromkeys(solver for lines in curves.values() for solver in lines))
    for axes, (budget, lines) in zip(grid.flat, curves.items(), strict=False):
        for solver, errors in lines.items():
            if isinstance(errors, tuple):
                times, values = (np.asarray(part, dtype=float) for part in errors)
            else:
                values = np.asarray(errors, dtype=float)
                times = np.arange(len(values)) * (1.0 if time_step is None else time_step)
            _line(axes, times, values, solver, solvers.index(solver), limit=LARGEST_ERROR)
        frames = time_step is None and not any(isinstance(errors, tuple) for errors in lines.values())
        _tidy(axes, f"{budget:g} ms a frame", "frame" if frames else "simulated time (s)", "relative error")
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
    _legend(figure, grid.flat, len(solvers))
    save_figure(figure, path, settings)


def error_summary(
    path: str | os.PathLike, rows: Iterable[tuple[str, float, float]], *, settings: Settings = None
) -> None:
    """Median relative error against the budget. `rows`: (solver, budget in milliseconds, median relative error)."""
    by_solver: dict[str, list[tuple[float, float]]] = {}
    for solver, budget, error in rows:
        by_solver.setdefault(solver, []).append((float(budget), float(error)))
    if not by_solver:
        raise InputError("there are no rows to draw")
    figure, grid = _figure(1, 1, (5.6, 4.0))
    axes = grid.flat[0]
    for place, (solver, pairs) in enumerate(by_solver.items()):
        budgets, errors = np.array(sorted(pairs)).T
        _line(axes, budgets, errors, solver, place, limit=LARGEST_ERROR, marker=MARKERS[place % len(MARKERS)])
    budgets = sorted({budget for pairs in by_solver.values() for budget, _ in pairs})
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    if not any(0 < error <= LARGEST_ERROR for pairs in by_solver.values() for _, error in pairs):
        axes.set_ylim(1e-3, 1.0)  # nothing but crosses: a logarithmic axis needs limits
    _tidy(axes, "", "time for a frame (ms)", "median relative error")
    _legend(figure, [axes], len(by_solver))
    save_figure(figure, path, settings)


def residual_curves(
    path: str | os.PathLike,
    curves: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]],
    title: str = "",
    xlabel: str = "iteration",
    ylabel: str = "relative residual",
    *,
    settings: Settings = None,
) -> None:
    """Curves on a logarithmic axis; each is an array of values, or a pair (x, values)."""
    if not curves:
        raise InputError("there are no curves to draw")
    figure, grid = _figure(1, 1, (5.6, 4.0))
    axes = grid.flat[0]
    for place, (name, curve) in enumerate(curves.items()):
        if isinstance(curve, tuple):
            x, y = (np.asarray(part, dtype=float) for part in curve)
        else:
            y = np.asarray(curve, dtype=float)
            x = np.arange(len(y))
        if x.shape != y.shape or y.ndim != 1:
            raise InputError(f"the curve {name!r} has {x.shape} places and {y.shape} values")
        _line(axes, x, y, name, place)
    _tidy(axes, title, xlabel, ylabel)
    _legend(figure, [axes], len(curves))
    save_figure(figure, path, settings)


def _figure(down: int, across: int, size: tuple[float, float], sharey: bool = False) -> tuple[Figure, NDArray]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(down, across, squeeze=False, sharey=sharey)


def _line(
    axes: Axes, x: NDArray, y: NDArray, name: str, place: int, *, limit: float = np.inf, marker: str = ""
) -> None:
    """One curve, up to the first value that is not finite or beyond `limit`, where a cross marks the end.

    Points with a marker stand for runs of their own, so each lost one gets a cross and the others stay.
    """
    colour = OKABE_ITO[place % 7]  # the eighth, yellow, is too faint for a thin line
    lost = ~np.isfinite(y) | (y > limit)
    kept = ~lost if marker else np.cumsum(lost) == 0
    style = "-" if marker else DASHES[place % len(DASHES)]
    axes.plot(x, np.where(kept, y, np.nan), style, color=colour, linewidth=1.6, label=name, marker=marker, markersize=5)
    mark: dict[str, Any] = {"color": colour, "markersize": 8, "markeredgewidth": 2.2, "zorder": 5}
    for k in np.flatnonzero(lost) if marker else np.flatnonzero(lost)[:1]:
        if k and not marker:
            axes.plot(x[k - 1 : k], y[k - 1 : k], "x", **mark)
        else:  # there is no value to mark, so the crosses pile up above the axes, off the scale
            pile = sum(line.get_gid() == "lost" and np.ravel(line.get_xdata())[0] == x[k] for line in axes.lines)
            above = axes.get_xaxis_transform()
            axes.plot(x[k : k + 1], [1.03 + 0.05 * pile], "x", transform=above, clip_on=False, gid="lost", **mark)


def _tidy(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_yscale("log", nonpositive="mask")
    if title:
        axes.set_title(title, fontsize=10.5, color=INK)
    axes.set_xlabel(xlabel, fontsize=9.5, color=INK)
    axes.set_ylabel(ylabel, fontsize=9.5, color=INK)
    axes.tick_params(labelsize=8.5, colors=INK, which="both", labelleft=True)
    axes.grid(True, which="major", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, all_axes: Iterable[Axes], count: int) -> None:
    handles: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    widest = max(map(len, handles), default=0) * INCHES_A_LETTER + 0.6
    columns = max(1, min(count, 4, int(figure.get_figwidth() / widest)))
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=columns, fontsize=9, frameon=False
    )


def _density(rows: NDArray[np.int64], columns: NDArray[np.int64], count: int) -> NDArray:
    """Entries counted in at most CELLS x CELLS cells; the root keeps a single entry visible beside a full block."""
    cells = min(count, CELLS)
    which = rows * cells // count * cells + columns * cells // count
    entries = np.bincount(which, minlength=cells * cells).reshape(cells, cells)
    share = np.sqrt(entries / max(entries.max(), 1))
    return np.where(entries > 0, 0.3 + 0.7 * share, 0.0)


def _ink_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ink", _INK_STOPS)


_INK_STOPS: Sequence[str] = ("#FFFFFF", "#8FB8DA", "#0072B2", "#03253F")
