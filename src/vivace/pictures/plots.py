"""Plots of what was measured. Agg figures made by hand: no window, and none of pyplot's global state."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import as_path
from ..errors import InputError
from ..files import provenance, writing
from .palette import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Settings = Mapping[str, Any] | None
Curves = Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]]

INK = "#222222"
FAINT = "#D9D9D9"
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*X"
LARGEST_ERROR = 1e3  # a run this far off has diverged; drawing how far would flatten every other line
CELLS = 512
INCHES_A_LETTER = 0.075  # of a legend, on average
INCHES_A_LINE = 0.19
LONGEST_LABEL = 72  # letters of a line


def save_figure(figure: Figure, path: str | os.PathLike[str], settings: Settings = None) -> None:
    """Write a figure to .png, .pdf or .svg, whole, with its settings inside and no date, so that bytes repeat."""
    import matplotlib

    path = as_path(path)
    text = provenance(settings)
    inside = {
        ".png": {"vivace": text, "Software": None},
        ".pdf": {"Keywords": text, "CreationDate": None},
        ".svg": {"Description": text, "Date": None},
    }
    kind = path.suffix.lower()
    if kind not in inside:
        raise InputError(f"a plot is written as .png, .pdf or .svg, not {path.suffix or 'a name without a suffix'!r}")
    with writing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "vivace", "axes.unicode_minus": False}):
        figure.savefig(temporary, format=kind[1:], dpi=160, metadata=inside[kind])


def adjacency_before_after(
    path: str | os.PathLike[str],
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


class Panel(NamedTuple):
    """One plot of several in a figure. A curve is an array of values, or a pair (x, values).

    Values below `floor` are shaded: they are finer than what they were measured with. With `linear`, values are on a
    linear axis. The curve named `reference` is what the others should be: dark and dashed, whatever its place.
    """

    curves: Curves
    title: str = ""
    xlabel: str = "iteration"
    ylabel: str = "relative residual"
    log_x: bool = False
    floor: float = 0.0
    linear: bool = False
    reference: str = ""


def panel_grid(
    path: str | os.PathLike[str],
    rows: Sequence[Sequence[Panel]],
    *,
    runs: bool = False,
    marked: bool = True,
    settings: Settings = None,
) -> None:
    """Panels in rows, on logarithmic axes unless they say otherwise, with one legend.

    A name has the same colour and dashes in all of them.

    A line ends in a cross where it diverged: a value that is not finite, or above LARGEST_ERROR. With `runs` each point
    is a run of its own: a lost one gets a cross, and the others stay.
    """
    across = max(map(len, rows), default=0)
    _draw(path, rows, (max(4.6 * across, 5.6), 3.3 * len(rows)), LARGEST_ERROR, settings, marked=marked, runs=runs)


def error_against_time(
    path: str | os.PathLike[str],
    curves: Mapping[float, Curves] | Mapping[str, Curves],
    *,
    time_step: float | None = None,
    ylabel: str = "relative error",
    floor: float = 0.0,
    across: int = 2,
    settings: Settings = None,
) -> None:
    """Relative error over an animation: one panel for each budget in milliseconds (or title), one line for each solver.

    A curve is an array with one error a frame (`time_step` in seconds turns frames into simulated time), or a pair
    (simulated seconds, errors). A line ends in a cross where its run diverged: an error
    that is not finite, or above LARGEST_ERROR.
    """
    panels = []
    for budget, lines in curves.items():
        frames = time_step is None and not any(isinstance(errors, tuple) for errors in lines.values())
        timed = {
            name: errors if isinstance(errors, tuple) else (np.arange(np.size(errors)) * (time_step or 1.0), errors)
            for name, errors in lines.items()
        }
        title = budget if isinstance(budget, str) else f"{budget:g} ms a frame"
        panels.append(Panel(timed, title, "frame" if frames else "simulated time (s)", ylabel, floor=floor))
    rows = [panels[k : k + across] for k in range(0, len(panels), across)]
    across = min(len(panels), across)
    size = ((4.6 if across <= 2 else 3.8) * across, 3.1 * len(rows))
    _draw(path, rows, size, LARGEST_ERROR, settings, sharey=True)


def error_summary(
    path: str | os.PathLike[str], rows: Iterable[tuple[str, float, float]], *, settings: Settings = None
) -> None:
    """Median relative error against the budget. `rows`: (solver, budget in milliseconds, median relative error)."""
    by_solver: dict[str, list[tuple[float, float]]] = {}
    for solver, budget, error in rows:
        by_solver.setdefault(solver, []).append((float(budget), float(error)))
    if not by_solver:
        raise InputError("there are no rows to draw")
    curves: Curves = {solver: tuple(np.array(sorted(pairs)).T) for solver, pairs in by_solver.items()}
    panel = Panel(curves, "", "time for a frame (ms)", "median relative error")
    _draw(path, [[panel]], (5.6, 3.6), LARGEST_ERROR, settings, marked=True, runs=True)


def residual_curves(
    path: str | os.PathLike[str],
    curves: Curves,
    title: str = "",
    xlabel: str = "iteration",
    ylabel: str = "relative residual",
    *,
    settings: Settings = None,
) -> None:
    """Curves on a logarithmic axis; each is an array of values, or a pair (x, values)."""
    _draw(path, [[Panel(curves, title, xlabel, ylabel)]], (5.6, 3.6), np.inf, settings)


def _draw(
    path: str | os.PathLike[str],
    rows: Sequence[Sequence[Panel]],
    size: tuple[float, float],
    limit: float,
    settings: Settings,
    *,
    marked: bool = False,
    runs: bool = False,
    sharey: bool = False,
) -> None:
    """A figure of panels, `size` inches without its legend."""
    names = list(dict.fromkeys(n for row in rows for panel in row for n in panel.curves if n != panel.reference))
    if not names:
        raise InputError("there are no curves to draw")
    figure, grid = _figure(len(rows), max(map(len, rows)), size, sharey=sharey)
    for axes in grid.flat:
        axes.set_visible(False)
    filled = [(grid[i, k], panel) for i, row in enumerate(rows) for k, panel in enumerate(row)]
    for axes, panel in filled:
        axes.set_visible(True)
        for name, curve in panel.curves.items():
            if name == panel.reference:
                axes.plot(*_curve(name, curve), color=INK, linestyle="--", linewidth=1.2, label=name, zorder=4)
            else:
                _line(axes, *_curve(name, curve), name, names.index(name), limit=limit, marked=marked, runs=runs)
    for axes, panel in filled:
        if runs:
            _run_ticks(axes)
        if panel.log_x:
            _log_x(axes)
        if not panel.linear and not any(map(_has_values, grid.flat if sharey else [axes])):
            axes.set_ylim(1e-3, 1.0)  # nothing but crosses: a logarithmic axis needs limits
        _tidy(axes, panel.title, panel.xlabel, panel.ylabel, linear=panel.linear)
        _shade(axes, panel.floor)
    _legend(figure, grid.flat)
    save_figure(figure, path, settings)


def _curve(name: str, curve: ArrayLike | tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    if isinstance(curve, tuple):
        x, y = (np.asarray(part, dtype=float) for part in curve)
    else:
        y = np.asarray(curve, dtype=float)
        x = np.arange(len(y), dtype=float)
    if x.shape != y.shape or y.ndim != 1:
        raise InputError(f"the curve {name!r} has {x.shape} places and {y.shape} values")
    return x, y


def _has_values(axes: Axes) -> bool:
    """Whether a logarithmic axis has anything to show but crosses."""
    return any(line.get_gid() != "lost" and (np.ravel(line.get_ydata()) > 0).any() for line in axes.lines)


def _run_ticks(axes: Axes) -> None:
    """A tick for each place where runs were made."""
    places = sorted({float(x) for line in axes.lines for x in np.ravel(line.get_xdata())})
    axes.set_xticks(places, [f"{place:g}" for place in places])


def _figure(down: int, across: int, size: tuple[float, float], sharey: bool = False) -> tuple[Figure, NDArray[Any]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(down, across, squeeze=False, sharey=sharey)


def _line(
    axes: Axes,
    x: NDArray[Any],
    y: NDArray[Any],
    name: str,
    place: int,
    *,
    limit: float = np.inf,
    marked: bool = False,
    runs: bool = False,
) -> None:
    """One curve, up to the first value that is not finite or beyond `limit`, where a cross marks the end.

    Of `runs`, each point stands for itself: a lost one gets a cross and the others stay.
    """
    colour = OKABE_ITO[place % 7]  # the eighth, yellow, is too faint for a thin line
    lost = ~np.isfinite(y) | (y > limit)
    kept = ~lost if runs else np.cumsum(lost) == 0
    # 7 colours, 4 dashes and 8 markers repeat together only after 56 lines
    style: dict[str, Any] = {"linestyle": DASHES[place % 4], "marker": MARKERS[place % 8] if marked else ""}
    axes.plot(x, np.where(kept, y, np.nan), color=colour, linewidth=1.6, label=name, markersize=4.5, **style)
    mark: dict[str, Any] = {"color": colour, "markersize": 8, "markeredgewidth": 2.2, "zorder": 5}
    for k in np.flatnonzero(lost) if runs else np.flatnonzero(lost)[:1]:
        if k and not runs:
            axes.plot(x[k - 1 : k], y[k - 1 : k], "x", **mark)
        else:  # there is no value to mark, so the crosses pile up above the axes, off the scale
            pile = sum(line.get_gid() == "lost" and np.ravel(line.get_xdata())[0] == x[k] for line in axes.lines)
            above = axes.get_xaxis_transform()
            axes.plot(x[k : k + 1], [1.03 + 0.05 * pile], "x", transform=above, clip_on=False, gid="lost", **mark)


def _tidy(axes: Axes, title: str, xlabel: str, ylabel: str, linear: bool = False) -> None:
    if not linear:
        axes.set_yscale("log", nonpositive="mask")
    if title:
        piled = Counter(float(np.ravel(line.get_xdata())[0]) for line in axes.lines if line.get_gid() == "lost")
        axes.set_title(title, fontsize=10.5, color=INK, pad=6 + 13 * max(piled.values(), default=0))
    axes.set_xlabel(xlabel, fontsize=9.5, color=INK)
    axes.set_ylabel(ylabel, fontsize=9.5, color=INK)
    axes.tick_params(labelsize=8.5, colors=INK, which="both", labelleft=True)
    axes.grid(True, which="major", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _log_x(axes: Axes) -> None:
    """Numbers as people write them: 0.2 rather than 2 x 10⁻¹."""
    from matplotlib.ticker import LogFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(LogFormatter())
    axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))  # between powers only on short axes


def _shade(axes: Axes, floor: float) -> None:
    low, high = axes.get_ylim()
    if 0 < low < floor:  # 0 where nothing is drawn
        axes.axhspan(low, min(floor, high), color=FAINT, alpha=0.5, linewidth=0)
        axes.set_ylim(low, high)


def _legend(figure: Figure, all_axes: Iterable[Axes]) -> None:
    """One legend on top, for which the figure grows; names that are too wide are broken, after commas if possible."""
    handles: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    width = figure.get_figwidth() - 0.4
    letters = min(int((width - 0.8) / INCHES_A_LETTER), LONGEST_LABEL)
    labels = [textwrap.fill(label.replace(",", ", "), letters).replace(", ", ",") for label in handles]
    widest = max(min(len(label), letters) for label in handles) * INCHES_A_LETTER + 0.8
    columns = max(1, min(len(labels), 4, int(width / widest)))
    lines = -(-sum(1 + label.count("\n") for label in labels) // columns)
    figure.set_figheight(figure.get_figheight() + INCHES_A_LINE * (lines + 1))
    look: dict[str, Any] = {"fontsize": 9, "frameon": False, "handlelength": 3.2}
    figure.legend(handles.values(), labels, loc="outside upper center", ncols=columns, **look)


def _density(rows: NDArray[np.int64], columns: NDArray[np.int64], count: int) -> NDArray[Any]:
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
