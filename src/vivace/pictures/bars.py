"""Bars with their spread: few measurements of many things, where lines would cross each other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .palette import OKABE_ITO
from .plots import INK, Settings, _figure, _legend, _tidy, save_figure

INCHES_A_BAR = 0.13
ACROSS = 5.2  # inches of a panel


class Bars(NamedTuple):
    """A bar: how long it is, and between which values measurements lay."""

    value: float
    low: float
    high: float


class BarPanel(NamedTuple):
    """Groups of bars, by what they are of and then by kind, from the top down. `mark`: where a dashed line stands."""

    groups: Mapping[str, Mapping[str, Bars]]
    title: str = ""
    xlabel: str = ""
    mark: float | None = None


def bar_panels(path: str | os.PathLike[str], panels: Sequence[BarPanel], *, settings: Settings = None) -> None:
    """Panels beside each other, with one legend; a kind has the same colour in all of them."""
    kinds = list(dict.fromkeys(kind for panel in panels for bars in panel.groups.values() for kind in bars))
    if not kinds:
        raise InputError("there are no bars to draw")
    rows = max(len(panel.groups) for panel in panels)
    height = 1.2 + INCHES_A_BAR * rows * (len(kinds) + 1)
    figure, grid = _figure(1, len(panels), (ACROSS * len(panels), height))
    for axes, panel in zip(grid.flat, panels, strict=True):
        for place, bars in enumerate(panel.groups.values()):
            for number, (kind, bar) in enumerate(bars.items()):
                at = place + 0.8 * ((number + 0.5) / len(bars) - 0.5)
                error = np.array([[bar.value - bar.low], [bar.high - bar.value]])
                look = {"color": OKABE_ITO[kinds.index(kind) % 7], "height": 0.8 / len(kinds)}
                axes.barh(at, bar.value, xerr=error, label=kind, error_kw={"elinewidth": 1.0, "ecolor": INK}, **look)
        if panel.mark is not None:
            axes.axvline(panel.mark, color=INK, linestyle="--", linewidth=1.0, zorder=3)
        _tidy(axes, panel.title, panel.xlabel, "", linear=True)
        axes.set_yticks(range(len(panel.groups)), list(panel.groups))
        axes.grid(False, axis="y")
        axes.invert_yaxis()
    _legend(figure, grid.flat)
    save_figure(figure, path, settings)
