"""Paths of bodies: some that can be written down, a place and a rotation at some times, and some made as one goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import LARGEST, as_numbers, check_flag, real_array, shown
from ..errors import InputError
from ..storage import storable


@storable("keyframes")
@dataclass(frozen=True, eq=False)
class Keyframes:
    """The path of a body by its shifts and rotations at some times; before the first and after the last it rests.

        Body(Box(...), path=Keyframes([0, 1, 2], shifts=[[0, 0, 0], [0.5, 0, 0], [0, 0, 0]], repeat=True))

    Args:
        times: (k,) in s, increasing.
        shifts: (k, 3) from where the body was made, in m; None: it stays there.
        rotations: (k, 3) rotation vectors since then (axis times angle, in rad); None: it does not turn.
        repeat: begin again after the last time. It should be where and as it was at the first.
    """

    times: Any
    shifts: Any = None
    rotations: Any = None
    repeat: bool = False

    def __post_init__(self) -> None:
        times = real_array(self.times)
        if times is None or times.ndim != 1 or not len(times) or not np.isfinite(times).all():
            raise InputError(f"the times of a path must be one or more numbers of seconds, not {shown(self.times)}")
        if not (np.diff(times) > 0).all():
            raise InputError(f"the times of a path must increase, not {shown(self.times)}")
        check_flag("repeat, whether a path begins again,", self.repeat)
        if self.repeat and len(times) < 2:
            raise InputError("a path that repeats needs two times or more")
        object.__setattr__(self, "times", times)
        for name in ("shifts", "rotations"):
            given = getattr(self, name)
            rows = np.zeros((len(times), 3))
            if given is not None:
                rows = as_numbers(f"the {name} of a path", given, (len(times), 3), most=LARGEST)
            object.__setattr__(self, name, rows)

    def __call__(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Shift and rotation vector at a time (s)."""
        first, last = self.times[0], self.times[-1]
        if self.repeat and time > last:
            time = first + (time - first) % (last - first)
        shift, turn = (
            np.array([np.interp(time, self.times, rows[:, axis]) for axis in range(3)])
            for rows in (self.shifts, self.rotations)
        )
        return shift, turn


class Led:
    """The path of a body that somebody leads: where it is to be next is said before every step, it goes there evenly.

        led = Led()
        sim = RigidSimulation([Body(Box(...), path=led)])
        led.go(led.shift + (0.0, 0.01, 0.0), sim.time, sim.time_step)
        sim.step()

    Several bodies may have one: then they go together.
    """

    def __init__(self) -> None:
        self._from = self._to = np.zeros(3)
        self._begin, self._seconds = 0.0, 1.0

    @property
    def shift(self) -> np.ndarray:
        """Where it is led to, from where the bodies were made (m)."""
        return self._to.copy()

    @property
    def velocity(self) -> np.ndarray:
        """Of the way there (m/s)."""
        return (self._to - self._from) / self._seconds

    def go(self, shift: Any, begin: float, seconds: float) -> None:
        """Lead it to `shift` (m), from where it is at the time `begin` (s), within `seconds`."""
        wanted = as_numbers("the shift of a path", shift, (3,), most=LARGEST)
        if not seconds > 0:
            raise InputError(f"a body is led somewhere within some seconds, not {shown(seconds)}")
        self._from, self._to, self._begin, self._seconds = self(begin)[0], wanted.copy(), begin, seconds

    def stay(self, shift: Any) -> None:
        """Be at `shift` (m) at once: a jump, for simulations that begin anew."""
        self._from = self._to = as_numbers("the shift of a path", shift, (3,), most=LARGEST).copy()

    def __call__(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Shift and rotation vector at a time (s)."""
        share = min(max((time - self._begin) / self._seconds, 0.0), 1.0)
        return self._from + share * (self._to - self._from), np.zeros(3)
