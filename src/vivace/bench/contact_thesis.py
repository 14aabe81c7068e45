"""What the thesis prints of its benchmarks, to stand beside what is measured here [thesis2010, 3.8, chapters 6 and 7].

Its seconds are those of its machine, an AMD64 server with eight cores, and of gcc 4.4.1 on a 32-bit system. Seconds
against cores are curves there; of those, what the text says is here.
"""

from __future__ import annotations

from typing import NamedTuple

CORES = 8


class Size(NamedTuple):
    """A row of Tables 3.2 and 3.4; `blocks` of T that are not zero."""

    bodies: int
    contacts: int
    blocks: int


class Sequential(NamedTuple):
    """A row of Tables 3.3 and 3.5: one thread, the factorised scheme; `deviation` of the seconds."""

    iterations: int
    quality: float
    residual: float
    seconds: float
    deviation: float


class SpeedUp(NamedTuple):
    """A row of Tables 6.1 and 6.2 (message passing, best number of cores), and of Table 6.3 (OpenMP, 8 cores).

    Each against the same program on one core, and against the sequential factorised Jacobi.
    """

    csp_own: float
    csp_sequential: float
    csp_cores: int
    openmp_own: float
    openmp_sequential: float


class Colours(NamedTuple):
    """Sizes of colours that section 7.3 tells: how many, the largest and smallest safe one, the unsafe one if any."""

    colours: int
    largest: int
    smallest: int
    unsafe: int = 0


SIZES = {
    "small grid": Size(513, 1_408, 17_728),
    "medium grid": Size(13_825, 40_320, 757_824),
    "large grid": Size(64_001, 188_800, 4_587_840),
    "small pile": Size(64_001, 6_605, 7_415),
    "large pile": Size(512_001, 52_909, 58_631),
}

SEQUENTIAL = {
    ("jacobi", "small grid"): Sequential(63, 249, 0.068, 0.0933, 0.0003),
    ("jacobi", "medium grid"): Sequential(66, 2790, 0.035, 3.20, 0.003),
    ("jacobi", "large grid"): Sequential(65, 7890, 0.035, 14.3, 0.003),
    ("gauss-seidel", "small grid"): Sequential(50, 247, 0.088, 0.105, 0.00015),
    ("gauss-seidel", "medium grid"): Sequential(50, 2850, 0.090, 3.24, 0.003),
    ("gauss-seidel", "large grid"): Sequential(50, 7920, 0.090, 13.1, 0.005),
    ("jacobi", "small pile"): Sequential(63, 0.000235, 0.00026, 1.63, 0.0016),
    ("jacobi", "large pile"): Sequential(65, 0.0137, 0.0049, 14.1, 0.005),
    ("gauss-seidel", "small pile"): Sequential(50, 0.000219, 0.00036, 0.897, 0.0009),
    ("gauss-seidel", "large pile"): Sequential(50, 0.0148, 0.0073, 7.26, 0.0018),
}

SPEED_UPS = {
    ("jacobi", "small pile"): SpeedUp(2.4, 2.6, 8, 6.2, 8.4),
    ("jacobi", "large pile"): SpeedUp(2.8, 2.8, 8, 5.2, 7.3),
    ("jacobi", "small grid"): SpeedUp(3.1, 2.6, 4, 5.3, 6.1),
    ("jacobi", "medium grid"): SpeedUp(3.7, 2.9, 7, 6.3, 4.9),
    ("jacobi", "large grid"): SpeedUp(4.8, 2.7, 7, 3.7, 4.6),
    ("jacobi t", "small pile"): SpeedUp(3.6, 7.5, 4, 7.3, 14.6),
    ("jacobi t", "large pile"): SpeedUp(5.1, 11.0, 7, 7.7, 16.1),
    ("jacobi t", "small grid"): SpeedUp(2.7, 2.0, 4, 6.4, 4.7),
    ("jacobi t", "medium grid"): SpeedUp(3.1, 1.8, 6, 3.4, 2.0),
    ("jacobi t", "large grid"): SpeedUp(3.2, 1.5, 8, 2.6, 1.2),
}

COLOURS = {
    ("relaxed, fixed", "medium grid"): Colours(7, 6_912, 5_329, 570),
    ("rigid, balanced, fixed", "medium grid"): Colours(580, 70, 69),
    ("rigid", "large pile"): Colours(3, 50_125, 3),
    ("relaxed", "large pile"): Colours(2, 50_125, 50_125, 2_784),
    ("rigid, balanced", "large pile"): Colours(3, 17_637, 17_636),
}

# Iterations to the quality of 50 sequential ones: Tables 3.3 and 3.5, sections 7.2.4, 7.3, 7.4 and 7.5.
ITERATIONS = {key: row.iterations for key, row in SEQUENTIAL.items()} | {
    ("relaxed, fixed", "medium grid"): 57,
    ("relaxed t, fixed", "medium grid"): 65,
    ("rigid, balanced, fixed", "medium grid"): 49,  # 50 in section 7.5
    ("rigid, balanced", "large pile"): 50,
    ("relaxed", "large pile"): 51,
    ("relaxed t", "large pile"): 51,
    ("jacobi t", "large pile"): 65,
}
