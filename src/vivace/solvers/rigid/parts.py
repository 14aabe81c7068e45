"""Gauss-Seidel in parts that do not wait for each other, and the same by messages [thesis2010, 7.1, chapter 6].

Each part of the contacts sweeps over velocities of its own; what all have found is added up at the end of an iteration.
Bodies between two parts are pushed by both, each unaware of the other: the more parts, the more it is like Jacobi.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...checks import check_name, is_whole, shown
from ...errors import InputError, MissingExtraError
from ...rigid.problem import ContactProblem
from .base import CONTACT_SOLVERS, ContactSolver
from .kernels import factorised as kernels
from .schemes import Factorised, Scheme, own_matrices

PARTITIONS = ("order", "metis")


def partitioned(problem: ContactProblem, parts: int) -> np.ndarray:
    """The part of each contact, (K,): that of the first of its bodies that moves, as METIS parts the bodies."""
    try:
        import pymetis
    except ImportError:
        raise MissingExtraError("a partition by METIS", "partition") from None
    moves = problem.movable[problem.pairs]
    both = problem.pairs[moves.all(axis=1)]
    ends = np.concatenate([both, both[:, ::-1]])
    ends = np.unique(ends, axis=0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=problem.bodies))])
    weights = np.bincount(problem.pairs.ravel(), minlength=problem.bodies)  # work is in contacts
    graph = pymetis.CSRAdjacency(starts.astype(np.int32), ends[:, 1].astype(np.int32))
    found = pymetis.part_graph(parts, graph, vweights=weights.tolist(), options=pymetis.Options(seed=0))[1]
    first = np.where(moves[:, 0], problem.pairs[:, 0], problem.pairs[:, 1])
    return np.asarray(found, np.int64)[first]


@CONTACT_SOLVERS.register("naive-parallel")
@dataclass(eq=False)
class NaiveParallel(ContactSolver):
    """Gauss-Seidel in parts of the contacts, at the same time, as if they did not depend on each other.

    Args:
        parts: how many there are, whatever the number of threads: results do not depend on it.
        partition: "order", contacts as they come, or "metis", so that few bodies lie between two parts: the strategy
            that the thesis left for later (4.2, 8.2). Needs pymetis: pip install "vivace[partition]".

    Limitations: the more parts, the nearer to Jacobi; the factorised scheme only.
    """

    parts: int = 8
    partition: str = "order"

    name = "naive-parallel"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_whole(self.parts) or self.parts < 1:
            raise InputError(f"parts must be a whole number of at least 1, not {shown(self.parts)}")
        check_name("partition", self.partition, PARTITIONS)

    def arrange(self, problem: ContactProblem) -> np.ndarray:
        """Contacts part by part."""
        parts = min(self.parts, problem.contacts)
        if self.partition == "order":
            self._bounds = np.linspace(0, problem.contacts, parts + 1).astype(np.int32)
            return np.arange(problem.contacts)
        part = partitioned(problem, parts)
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=parts))]).astype(np.int32)
        return np.argsort(part, kind="stable")

    def scheme_class(self, problem: ContactProblem) -> type[Scheme]:
        """Always by the bodies."""
        return Factorised

    def iteration(self, scheme: Scheme) -> list[Phase]:
        """All parts, then what they found together."""
        assert isinstance(scheme, Factorised)
        arrays, parts = self.local_arrays(scheme)
        return [
            Phase(scheme.of_friction(kernels.sweep_parts), arrays, 0, parts, chunks=parts),
            scheme.add_changes(0, scheme.contacts),
        ]

    def local_arrays(self, scheme: Factorised) -> tuple[dict[str, np.ndarray], int]:
        """Bodies of each part one after the other, and contacts by these numbers; how many parts there are."""
        bounds = self._bounds
        parts = len(bounds) - 1
        lists, numbers, starts = [], [], [0]
        for begin, end in pairwise(bounds):
            own, at = np.unique(scheme.pairs[begin:end], return_inverse=True)
            numbers.append(at.ravel() + starts[-1])
            lists.append(own)
            starts.append(starts[-1] + len(own))
        listed = np.concatenate(lists).astype(np.int32)
        shared = scheme.arrays
        rows = shared["bodies"][: kernels.BODY * scheme.problem.bodies].reshape(-1, kernels.BODY)
        bodies = own_matrices(rows[listed], shared["bodies"])
        arrays = {name: shared[name] for name in ("rows", "impulses", "previous", "w", "change")}
        arrays |= {"parts": bounds, "local_pairs": np.concatenate(numbers).astype(np.int32)}
        arrays |= {"body_starts": np.array(starts, np.int32), "body_list": listed}
        return arrays | {"local_w": np.zeros(kernels.BODY * len(listed)), "local_bodies": bodies}, parts


@CONTACT_SOLVERS.register("message-passing")
@dataclass(eq=False)
class MessagePassing(NaiveParallel):
    """`naive-parallel` by workers and an accumulator that send each other messages [thesis2010, figures 6.3 and 7.1].

    The iterates are the same, bit for bit; what differs is what a message costs.

    Limitations: a message takes some ten microseconds, so that small problems mostly wait; the factorised scheme only.
    """

    name = "message-passing"

    def planned(self, scheme: Scheme, threads: int) -> Callable[[int, int | None], int]:
        """Workers sweep over their parts when they are told to go on; the accumulator adds up, judges, and tells."""
        assert isinstance(scheme, Factorised)
        arrays, parts = self.local_arrays(scheme)
        sweep = scheme.of_friction(kernels.sweep_parts)
        sweeps = [Plan([Phase(sweep, arrays, p, p + 1, serial=True)], 1) for p in range(parts)]
        ending = Plan([scheme.add_changes(0, scheme.contacts), scheme.judge()], 1, scheme.monitor)
        workers = min(threads, parts)
        return lambda iterations, deadline_ns: self._talk(scheme, sweeps, ending, workers, iterations, deadline_ns)

    def _talk(
        self, scheme: Scheme, sweeps: list[Plan], ending: Plan, workers: int, iterations: int, deadline_ns: int | None
    ) -> int:
        done = SimpleQueue[int]()
        channels = [SimpleQueue[bool]() for _ in range(workers)]  # one each, so that nobody takes another's message

        def work(me: int) -> None:
            while channels[me].get():
                for sweep in sweeps[me::workers]:
                    sweep.run()
                done.put(me)

        crew = [threading.Thread(target=work, args=(me,), name=f"contact-worker-{me}") for me in range(workers)]
        for worker in crew:
            worker.start()
        made = 0
        try:
            while made < iterations and (made == 0 or scheme.residual > scheme.monitor[1]):
                if deadline_ns is not None and made and time.perf_counter_ns() >= deadline_ns:
                    break
                for channel in channels:
                    channel.put(True)
                for _ in crew:
                    done.get()
                ending.run()
                made += 1
        finally:
            for channel in channels:
                channel.put(False)  # the thesis' poison
            for worker in crew:
                worker.join()
        return made
