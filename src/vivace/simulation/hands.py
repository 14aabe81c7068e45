"""Hands: they hold vertices as a person does, with a force that has an end, and slip before the body tears.

A pin of `Simulation.grab` is exact: whatever it takes, its vertex is at its target. A hand is a spring between each of
its vertices and a target that is never farther ahead of them than the spring's reach, so that together they pull with

    Σ w_i |target_i - q_i| ≤ F        w_i = share_i F ÷ reach

newtons. Nothing of this is a solver's: between two steps the targets are led on towards the goals, as far as the reach
allows, and the step sees pins. Implicit as these are, a light cloth is not thrown by a strong hand.

A solver that stops early leaves stretch near what is pulled, and where it is pulled over an edge. So a hand feels all
edges of the mesh after every step, and takes smaller steps while one is drawn out (or pressed together); how much
smaller is `care`. It slips when one stays so for longer than the body bears, and when the hand has pulled with all it
has for a while and the goal is no nearer.

Solvers that start pins at their targets do so because they sweep: a weak spring would move next to nothing in the few
sweeps of a step. For these a spring is at least as stiff as what it pulls at (`Hand.firm`), and position based ones
hold every pin exactly. There the force has no end in newtons, and care alone keeps a body together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..mesh import Mesh
from ..mesh.kernels.strain import edge_strain

REACH = 0.04  # of the body's size: how far ahead of what it holds a hand may pull
FASTEST = 1.4  # m/s: what a hand can follow at least, whatever the size and the step
CARE = 0.25  # of its reach that a hand uses at first
BOLDER = 4.2  # 1/s: the rate at which it uses more where nothing is drawn out
TEARS, SOLID_TEARS = 0.2, 1.0  # stretch that sheets and bodies of tetrahedra bear for long
EASE = 0.25  # of that: from there on a hand takes care
SLACK, MOST_SLACK = 15.0, 0.5  # times the mean strain: what a solver leaves by itself, and no fault of the hand
LEAST_CARE, SHYEST = 0.02, 0.4  # of the reach, and of what it used in the step before
PATIENCE = 0.1  # s: how long the body may be drawn out farther than it bears
STRENGTH = 0.6  # s: how long a hand pulls with all it has at what does not come
AWAY = 2.0  # reaches: farther away, the goal has run away
CLOSING = 0.1  # m/s: what comes at least so fast does come

# (vertices, positions, targets) to targets that no collider is before
Clear = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(eq=False)
class Hand:
    """Some vertices, where they are wanted, and how hard they are pulled there.

    Attributes:
        vertices: (k,) those held.
        goals: (k, 3) where they are wanted (m).
        shares: (k,) of the force that each has; their sum is 1.
        force: the most that it pulls with (N).
        reach: how far ahead of what it holds it may pull (m).
        firm: the least stiffness of a spring in the middle (N/m).
        usual: the largest strain of an edge when it took hold.
        care: share of the reach that it uses, less where the body is drawn out.
        torn: how long the body has been drawn out farther than it bears (s).
        spent: how long it has pulled with all it has in vain (s).
    """

    vertices: np.ndarray
    goals: np.ndarray
    shares: np.ndarray
    force: float
    reach: float
    firm: float
    usual: float
    care: float = CARE
    torn: float = 0.0
    spent: float = 0.0
    gap: float = 0.0  # between what is held and its goal, before this step

    @property
    def stiffness(self) -> np.ndarray:
        """(k,) of its springs, N/m."""
        most = float(self.shares.max(initial=0.0))
        return np.asarray(self.shares * max(self.force / self.reach, self.firm / max(most, 1e-30)))


class Hands:
    """The hands that hold vertices of a mesh."""

    def __init__(self, mesh: Mesh):
        self._mesh = mesh
        self._hands: list[Hand] = []
        ends = mesh.vertices[mesh.edges]
        self._edges = np.ascontiguousarray(mesh.edges, np.int32)
        self._lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).astype(np.float32)
        self._worst = np.zeros(mesh.n_vertices, np.float32)
        self._size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-3)
        self._tears = SOLID_TEARS if mesh.is_volumetric else TEARS

    def __iter__(self) -> Iterator[Hand]:
        return iter(self._hands)

    def __len__(self) -> int:
        return len(self._hands)

    def reach(self, h: float) -> float:
        """How far ahead of what it holds a hand may pull (m), in steps of h seconds."""
        return max(REACH * self._size, FASTEST * h)

    def of(self, vertices: Sequence[int]) -> Hand | None:
        """The hand that holds just these; None where nobody's hand holds any; an error where one holds others too."""
        held = {int(vertex): hand for hand in self._hands for vertex in hand.vertices}
        found = {id(held[vertex]): held[vertex] for vertex in vertices if vertex in held}
        if not found:
            return None
        (hand, *more) = found.values()
        if more or sorted(hand.vertices.tolist()) != sorted(vertices):
            other = next(vertex for vertex in vertices if vertex in held)
            raise InputError(
                f"vertex {other} is held by a hand together with others; grab all of these or release it first"
            )
        return hand

    @property
    def soft(self) -> dict[int, float]:
        """Stiffnesses of the springs by vertex, N/m."""
        return {int(v): float(k) for hand in self._hands for v, k in zip(hand.vertices, hand.stiffness, strict=True)}

    def strain(self, q: np.ndarray, usual: float = 0.0) -> float:
        """The largest |l/l₀ - 1| of an edge at positions q, beyond what is usual or what a slack solver leaves."""
        self._worst[:] = 0.0
        mean, _, largest = edge_strain(q, self._edges, self._lengths, self._worst)
        return float(largest - max(usual, min(SLACK * mean, MOST_SLACK)))

    def add(self, hand: Hand) -> None:
        """One more."""
        self._hands.append(hand)

    def drop(self, vertices: Sequence[int]) -> None:
        """Hands lose these; one that holds nothing any more is gone. The others pull as hard as before."""
        lost, kept = np.array(list(vertices), int), []
        for hand in self._hands:
            stays = ~np.isin(hand.vertices, lost)
            if stays.all():
                kept.append(hand)
            elif stays.any():
                hand.vertices, hand.goals, hand.shares = hand.vertices[stays], hand.goals[stays], hand.shares[stays]
                kept.append(hand)
        self._hands = kept

    def lead(self, hand: Hand, q: np.ndarray, clear: Clear | None) -> np.ndarray:
        """(k, 3): where its springs are to pull in a step from positions q, rows of four."""
        held = q[hand.vertices, :3].astype(np.float64)
        way = hand.shares @ (hand.goals - held) / hand.shares.sum()
        hand.gap = float(np.linalg.norm(way))
        most = hand.care * hand.reach
        targets = hand.goals + (min(1.0, most / max(hand.gap, 1e-30)) - 1.0) * way
        return targets if clear is None else clear(hand.vertices, held, targets)

    def slips(self, hand: Hand, q: np.ndarray, h: float) -> bool:
        """Feel what a step of h seconds has done to the body, and whether the hand has to let go."""
        strain = self.strain(q, hand.usual)
        held = q[hand.vertices, :3].astype(np.float64)
        change = EASE * self._tears / max(strain, 1e-9)
        hand.care = min(1.0, max(LEAST_CARE, hand.care * min(math.exp(BOLDER * h), max(SHYEST, change))))
        hand.torn = hand.torn + h if strain > self._tears else 0.0
        gap = float(np.linalg.norm(hand.shares @ (hand.goals - held))) / float(hand.shares.sum())
        vain = gap > AWAY * hand.reach and hand.gap - gap < CLOSING * h
        hand.spent = hand.spent + h if vain else max(0.0, hand.spent - h)
        return hand.torn > PATIENCE or hand.spent > STRENGTH

    # --- what is carried from step to step ------------------------------------------------------------------------

    def memory(self) -> dict[str, np.ndarray]:
        """All hands as arrays, for `recall`; nothing without any."""
        if not self._hands:
            return {}
        return {
            "hands.count": np.array([len(hand.vertices) for hand in self._hands]),
            "hands.about": np.array(
                [[one.force, one.reach, one.firm, one.usual, one.care, one.torn, one.spent] for one in self._hands]
            ),
            "hands.vertices": np.concatenate([hand.vertices for hand in self._hands]),
            "hands.goals": np.concatenate([hand.goals for hand in self._hands]),
            "hands.shares": np.concatenate([hand.shares for hand in self._hands]),
        }

    @classmethod
    def recall(cls, mesh: Mesh, memory: dict[str, np.ndarray]) -> Hands:
        """The hands that `memory` tells of."""
        hands = cls(mesh)
        if "hands.count" in memory:
            held = memory["hands.vertices"]
            if held.ndim != 1 or held.dtype.kind != "i" or not 0 <= held.min() <= held.max() < mesh.n_vertices:
                raise InputError(f"the state's hands must hold vertices from 0 to {mesh.n_vertices - 1}")
            ends = np.cumsum(memory["hands.count"])[:-1]
            parts = [np.split(memory[f"hands.{name}"], ends) for name in ("vertices", "goals", "shares")]
            for vertices, goals, shares, about in zip(*parts, memory["hands.about"], strict=True):
                hands.add(Hand(vertices.copy(), goals.copy(), shares.copy(), *map(float, about)))
        return hands
