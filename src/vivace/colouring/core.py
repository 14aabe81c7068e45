"""What a colouring is, the registry of algorithms, and the one function that runs them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any

import numpy as np

from ..backends.cpu.executor import check_threads
from ..errors import InputError
from ..registry import Registry
from .graph import as_graph, check_graph
from .kernels.serial import close_gaps

# function(indptr, indices, *, seed, threads, **options) -> (colours, rounds), for a graph of at least one vertex
Algorithm = Callable[..., tuple[np.ndarray, int]]
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Colouring:
    """A partition of vertices into independent sets: colours 0..count - 1, none of them empty."""

    colours: np.ndarray  # (n,) int32
    count: int
    rounds: int  # parallel rounds; 1 for a serial algorithm
    algorithm: str
    seed: int

    @cached_property
    def sizes(self) -> np.ndarray:
        """(count,) vertices of each colour."""
        return np.bincount(self.colours, minlength=self.count)

    @property
    def largest(self) -> int:
        """How many vertices the most frequent colour has."""
        return int(self.sizes.max(initial=0))

    @property
    def smallest(self) -> int:
        """How many vertices the rarest colour has."""
        return int(self.sizes.min()) if self.count else 0

    @property
    def balance(self) -> float:
        """Mean size over largest size: 1 when all colours are equally large."""
        return len(self.colours) / (self.count * self.largest) if self.count else 1.0

    def order(self, secondary: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Vertices grouped by colour, and where each colour begins: colour c is order[pointers[c]:pointers[c + 1]].

        Within a colour the vertices ascend, or are sorted by `secondary`, an (n,) rank, ascending where that ties.
        """
        n = len(self.colours)
        # NumPy sorts short integers by radix, several times faster than the others.
        keys = self.colours.astype(np.uint16) if self.count <= 2**16 else self.colours
        if secondary is None:
            order = np.argsort(keys, kind="stable")
        else:
            secondary = np.asarray(secondary)
            if secondary.shape != (n,):
                raise InputError(f"secondary must hold one rank a vertex, shape ({n},), not {secondary.shape}")
            order = np.lexsort((secondary, keys))
        pointers = np.zeros(self.count + 1, np.int32)
        np.cumsum(self.sizes, out=pointers[1:])
        return order.astype(np.int32), pointers


COLOURINGS: Registry[Callable[..., Colouring]] = Registry("colouring")


def colouring(name: str) -> Callable[[Algorithm], Callable[..., Colouring]]:
    """Decorator: register an algorithm that returns (colours, rounds), wrapped in what all of them share."""

    def wrap(algorithm: Algorithm) -> Callable[..., Colouring]:
        @wraps(algorithm)
        def run(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int, **options: Any) -> Colouring:
            if len(indptr) == 1:
                return Colouring(np.zeros(0, np.int32), 0, 0, name, seed)
            colours, rounds = algorithm(indptr, indices, seed=seed, threads=threads, **options)
            return Colouring(colours, close_gaps(colours), rounds, name, seed)

        return COLOURINGS.register(name)(run)

    return wrap


@lru_cache
def options_of(name: str) -> dict[str, object]:
    """An algorithm's own options and their defaults."""
    parameters = inspect.signature(COLOURINGS[name]).parameters
    return {p: item.default for p, item in parameters.items() if p not in ("indptr", "indices", "seed", "threads")}


def colour(
    indptr: np.ndarray,
    indices: np.ndarray,
    algorithm: str = "brooks-vizing",
    *,
    seed: int = 0,
    threads: int | None = None,
    check: bool = True,
    **options: Any,
) -> Colouring:
    """Colour an undirected graph so that no edge joins two vertices of one colour.

    The graph is CSR: the neighbours of v are indices[indptr[v]:indptr[v + 1]], in any order, each edge in both
    directions. Entries on the diagonal are left out. The result depends on the seed and never on the threads.

    Args:
        indptr: (n + 1,) where the neighbours of each vertex begin in `indices`.
        indices: the neighbours of all vertices, one list after the other.
        algorithm: a name of COLOURINGS, see `vivace list colourings`.
        seed: a whole number from 0; algorithms without chance ignore it.
        threads: 1 to 256; None for one a core.
        check: False skips the test of the graph, for callers who built it: symmetric, in range, no diagonal.
        **options: the algorithm's own, see `options_of(name)` and its docstring.
    """
    function = COLOURINGS[algorithm]
    unknown = [name for name in options if name not in options_of(algorithm)]
    if unknown:
        known = ", ".join(options_of(algorithm)) or "none"
        raise InputError(f"the colouring {algorithm!r} has no option {unknown[0]!r}; known options: {known}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed must be a whole number from 0 to 2**63 - 1, not {seed!r}")
    threads = check_threads(threads)
    indptr, indices = as_graph(indptr, indices)
    if check:
        indptr, indices = check_graph(indptr, indices)
    return function(indptr, indices, seed=int(seed), threads=threads, **options)
