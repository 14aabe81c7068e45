"""Bodies that somebody holds: a point of a body is pulled to a target by a damped spring, and let go again.

The spring is as strong as its body is heavy, and taken at the end of the step. With the velocity u' = J V' of the held
point p, J = [1, -[r]×], the rotation drag D, and the target a, a step of length h ends with the velocities V' for which

    M (V' - V) = h Jᵀ (k (a - p - h u') - c u') - h D V'

The matrix of this system, M + Jᵀ (h² k + h c) J + h D, is positive definite for every mass and every step, so nothing
overshoots because a step is long. k = m RATE² and c = 2 m RATE, critical damping: a heavy box follows the hand as a
light card does. A body at rest hangs g ÷ RATE² below its target, 6 mm.

The drag is against the spin only, SPIN times the inertia about the held point: a body that is held by a corner would
otherwise be a pendulum that swings for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import LARGEST, as_list, as_numbers, is_whole, shown
from ..errors import InputError
from .bodies import Bodies
from .rotation import matrices

RATE = 40.0  # 1/s, of the spring: the hand is followed within 2 ÷ RATE = 50 ms
SPIN = 8.0  # 1/s
REACH = 0.25  # m: from there on the spring pulls no stronger, 40 times the weight, so that nothing is crushed


@dataclass(eq=False)
class BodyGrab:
    """A point of a body, in its own frame, and where it is wanted (m)."""

    body: int
    local: np.ndarray
    target: np.ndarray


class BodyGrabs:
    """What is held of some bodies, by numbers that are given out once and never again.

    grabs = BodyGrabs(bodies)
    grab = grabs.hold(1, (0.1, 0.2, 0.1))
    grabs.move(grab, (0.1, 1.0, 0.1))
    velocities = grabs.pulled(free_velocities(bodies, turned, gravity, h), turned, h)
    grabs.release(grab)
    """

    def __init__(self, bodies: Bodies):
        self.bodies = bodies
        self._grabs: dict[int, BodyGrab] = {}
        self._given = 0

    def __len__(self) -> int:
        return len(self._grabs)

    @property
    def held(self) -> tuple[int, ...]:
        """The numbers of all grabs, in the order in which they were made."""
        return tuple(self._grabs)

    def hold(self, body: int, point: ArrayLike, target: ArrayLike | None = None) -> int:
        """Hold the point of a body that is at `point` now (m).

        `target`: where it is to be; by default where it is. Returns the number of the grab.
        """
        index = self.check(body)
        where = as_numbers("point", point, (3,), most=LARGEST)
        wanted = where if target is None else as_numbers("target", target, (3,), most=LARGEST)
        turned = matrices(self.bodies.orientations[index])
        self._given += 1
        local = turned.T @ (where - self.bodies.positions[index])
        self._grabs[self._given] = BodyGrab(index, local, wanted.copy())
        return self._given

    def check(self, body: object) -> int:
        """The number of a body that can be held."""
        count = len(self.bodies)
        index: int = int(body) if is_whole(body) else -1  # type: ignore[call-overload]
        if not 0 <= index < count:
            raise InputError(f"grab takes a body from 0 to {count - 1}, not {shown(body)}")
        if not self.bodies.movable[index]:
            why = "follows a path" if index in self.bodies.paths else "is fixed"
            free = np.flatnonzero(self.bodies.movable)
            raise InputError(
                f"body {index} {why} and cannot be grabbed; "
                + (f"{len(free)} others are free, the first is {free[0]}" if len(free) else "no body is free")
            )
        return index

    def move(self, grab: int, target: ArrayLike) -> None:
        """Pull what a grab holds towards another place (m)."""
        self._known(grab).target[:] = as_numbers("target", target, (3,), most=LARGEST)

    def release(self, grabs: int | Iterable[int] | None = None) -> None:
        """Let go of one grab, of several, or of all; bodies keep the velocities they have."""
        given = self.held if grabs is None else as_list("grabs", grabs) if isinstance(grabs, Iterable) else [grabs]
        for grab in given:
            self._known(grab)
        for grab in given:
            self._grabs.pop(grab, None)

    def rows(self) -> np.ndarray:
        """(k, 8): number, body, held point in its frame, target of each grab, for `recall`."""
        found = [(number, one.body, *one.local, *one.target) for number, one in self._grabs.items()]
        return np.array(found, float).reshape(-1, 8)

    @property
    def given(self) -> int:
        """How many grabs there have been."""
        return self._given

    def recall(self, rows: np.ndarray, given: int) -> None:
        """Hold what `rows` tells, and nothing else."""
        self._given = int(given)
        self._grabs = {int(row[0]): BodyGrab(int(row[1]), row[2:5].copy(), row[5:8].copy()) for row in rows}

    def body_of(self, grab: int) -> int:
        """Which body a grab holds."""
        return self._known(grab).body

    def points(self) -> np.ndarray:
        """(k, 3): where the held points are now (m), in the order of `held`."""
        bodies = self.bodies
        found = [
            bodies.positions[one.body] + matrices(bodies.orientations[one.body]) @ one.local
            for one in self._grabs.values()
        ]
        return np.array(found).reshape(-1, 3)

    def _known(self, grab: object) -> BodyGrab:
        if not is_whole(grab) or grab not in self._grabs:
            raise InputError(
                f"there is no grab {shown(grab)}; those that are held: {', '.join(map(str, self._grabs)) or 'none'}"
            )
        return self._grabs[grab]

    def pulled(self, free: np.ndarray, turned: np.ndarray, h: float) -> np.ndarray:
        """Velocities and spins (M, 6) at the end of a step with the pull, from those it would have without.

        `turned`: (M, 3, 3) from the frames of the bodies to the world, at the beginning of the step. All grabs of a
        body are solved for together, so that two hands may pull at it.
        """
        if not self._grabs:
            return free
        out = free.copy()
        of: dict[int, list[BodyGrab]] = {}
        for one in self._grabs.values():
            of.setdefault(one.body, []).append(one)
        for body, grabs in of.items():
            out[body] = self._of_body(body, grabs, free[body], turned[body], h)
        return out

    def _of_body(self, body: int, grabs: list[BodyGrab], free: np.ndarray, turned: np.ndarray, h: float) -> np.ndarray:
        mass = self.bodies.masses[body]
        inertia = turned @ self.bodies.inertias[body] @ turned.T / mass  # all is divided by the mass
        inert = np.zeros((6, 6))
        inert[:3, :3], inert[3:, 3:] = np.eye(3), inertia
        matrix, right = inert.copy(), inert @ free
        k, c = RATE**2, 2.0 * RATE
        for one in grabs:
            arm = turned @ one.local
            x, y, z = arm
            at = np.zeros((3, 6))
            at[:, :3], at[:, 3:] = np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
            way = one.target - self.bodies.positions[body] - arm
            way *= min(1.0, REACH / max(float(np.linalg.norm(way)), 1e-30))
            matrix += (h * h * k + h * c) * at.T @ at
            about = inertia + (arm @ arm) * np.eye(3) - np.outer(arm, arm)
            matrix[3:, 3:] += (h * SPIN / len(grabs)) * about
            right += h * k * at.T @ way
        found: np.ndarray = np.linalg.solve(matrix, right)
        return found
