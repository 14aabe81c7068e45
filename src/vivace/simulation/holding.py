"""What a user of a simulation holds of it: vertices, exactly or with a hand that has an end to its force."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..checks import LARGEST, as_list, as_numbers, is_number, is_whole, shown
from ..collisions.detector import Detector
from ..energy.system import System
from ..errors import InputError
from ..model import Model
from ..model.model import FIRM
from ..model.paths import Path, PinPath
from ..solvers import Solver
from .grabs import Grabs, chosen
from .hands import Hand, Hands
from .motion import Motion, as_points, as_rows

STRONGEST_HAND = 1e6  # N


class Holding(ABC):
    """The part of a simulation that holds vertices."""

    system: System
    _model: Model
    _solver: Solver
    _motion: Motion
    _grabs: Grabs
    _hands: Hands
    _detector: Detector | None
    _last_targets: tuple[np.ndarray, np.ndarray] | None
    _h: float
    # paths, with the rows of targets that follow each, and which of its places these are
    _led: list[tuple[PinPath, np.ndarray, np.ndarray, np.ndarray]]

    slipped: tuple[int, ...] = ()
    """Vertices that have slipped out of hands in the last step."""

    @abstractmethod
    def _adopt(self, model: Model) -> None:
        """Go on with another model, time step or number of substeps."""

    @property
    @abstractmethod
    def time(self) -> float:
        """Simulated seconds."""

    @property
    @abstractmethod
    def _length(self) -> float:
        """Of a substep (s)."""

    @abstractmethod
    def replace_model(self, model: Model) -> None:
        """Go on with another model of the same vertices."""

    @abstractmethod
    def prepare(self, *, wait: bool = False) -> bool:
        """Make the solver ready."""

    def grab(
        self,
        what: int | Sequence[int] | np.ndarray | tuple[ArrayLike, ArrayLike],
        target: ArrayLike | None = None,
        *,
        force: float | None = None,
        shares: ArrayLike | None = None,
    ) -> int | tuple[int, ...] | None:
        """Hold a vertex from the next step on, as a pin that may move.

        Grab again to move it, which costs nothing; grab others to hold more.

            sim.grab(12, (0, 1, 0))                         # there, whatever it takes
            sim.grab([12, 13, 14], places, force=20.0)      # as a hand of 20 N does, which may slip

        Args:
            what: the number of a vertex; a sequence of k numbers; or a ray (origin, direction), which takes the vertex
                it points at.
            target: where to hold it, (3,), or (k, 3) for k vertices, m; by default where it is.
            force: by default the vertices are held exactly. With a force (N) a hand holds them together: it pulls with
                no more than that (solvers that sweep aside, see `hands`), less where the body would be torn, and slips
                when it cannot hold on (`slipped`). A hand keeps its force when it is moved without saying one.
            shares: (k,) how much of the force each vertex gets, relative to the others; by default all alike.

        Returns:
            The vertex or the vertices, or None where the ray hits nothing.
        """
        found = chosen(what, self._motion.q, self._model.mesh)
        if found is None:
            return None
        vertices, single = found
        if target is None:
            places = as_points(self._motion.q[vertices])
        else:
            shape = (3,) if single else (len(vertices), 3)
            places = as_numbers("target", target, shape, most=LARGEST).reshape(-1, 3)
        hand = self._hands.of(vertices)
        if force is None and shares is not None:
            raise InputError("shares are of a hand's force; say force=20.0 (N) with them")
        if hand is None and force is None:
            self._grabs.grab(vertices, places)
        elif vertices:
            self._take_in_hand(hand, vertices, places, force, shares)
        self._hold()
        return vertices[0] if single else tuple(vertices)

    def _take_in_hand(
        self, hand: Hand | None, vertices: list[int], goals: np.ndarray, force: float | None, shares: ArrayLike | None
    ) -> None:
        """A hand moves, or takes hold of vertices that none has held yet."""
        if force is not None and not (is_number(force) and 0 < force <= STRONGEST_HAND):
            raise InputError(
                f"the force of a hand must be positive (N), {STRONGEST_HAND:g} at most, not {shown(force)}"
            )
        if hand is None:
            exact = [vertex for vertex in vertices if vertex in self._grabs.grabbed]
            if exact:
                raise InputError(f"vertex {exact[0]} is held exactly; release it before a hand takes it")
            assert force is not None
            even = np.full(len(vertices), 1.0 / len(vertices))
            reach, usual = self._hands.reach(self._h), self._hands.strain(self._motion.q)
            self.prepare()  # only then it is known who solves
            firm = self._model.pin_stiffness / FIRM if self._solver.snaps_pins else 0.0
            hand = Hand(np.array(vertices), goals, even, float(force), reach, firm, usual)
            hand.shares = even if shares is None else _as_shares(shares, len(vertices))
            self._hands.add(hand)
            self._grabs.grab(vertices, as_points(self._motion.q[vertices]), hand.stiffness)
            return
        order = {int(vertex): k for k, vertex in enumerate(hand.vertices)}
        at = [order[vertex] for vertex in vertices]
        given = None if shares is None else _as_shares(shares, len(vertices))
        hand.goals[at] = goals
        if force is not None or given is not None:
            hand.force = hand.force if force is None else float(force)
            if given is not None:
                hand.shares[at] = given
            held = hand.vertices.tolist()
            self._grabs.grab(held, self._grabs.targets[self._grabs.rows_of(held)], hand.stiffness)

    def release(self, what: int | Iterable[int] | None = None) -> None:
        """Let go of a grabbed vertex, of several, or of all; they keep their velocity."""
        held = self._grabs.grabbed
        given = held if what is None else as_list("vertices", what) if isinstance(what, Iterable) else [what]
        for vertex in given:
            if not is_whole(vertex) or vertex not in held:
                raise InputError(
                    f"vertex {shown(vertex)} is not grabbed; those that are: {', '.join(map(str, held)) or 'none'}"
                )
        self._let_go(dict.fromkeys(int(vertex) for vertex in given))

    @property
    def grabbed(self) -> tuple[int, ...]:
        """The vertices that are held."""
        return self._grabs.grabbed

    def _hold(self) -> None:
        """Go on with the pins of what is grabbed, if they have changed."""
        if self._grabs.model is not self._model:
            self._adopt(self._grabs.model)

    @property
    def hands(self) -> tuple[Hand, ...]:
        """The hands that hold vertices: those grabbed with a force."""
        return tuple(self._hands)

    def _let_go(self, vertices: Iterable[int]) -> None:
        given = list(vertices)
        self._grabs.release(given)
        self._hands.drop(given)
        self._hold()

    def _lead_hands(self) -> None:
        """Before a step: pins go along their paths, and hands pull towards their goals.

        These as far as they reach and no collider is in the way.
        """
        self._led = self._rows_on_paths()
        self._grabs.targets[:] = self._on_paths(self._grabs.targets, self.time + self._h)
        for hand in self._hands:
            rows = self._grabs.rows_of(hand.vertices.tolist())
            self._grabs.targets[rows] = self._hands.lead(hand, self._motion.q, self._clear)

    def _clear(self, vertices: np.ndarray, held: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Targets that are not on the far side of a collider."""
        if self._detector is None:
            return targets
        wanted = as_rows(targets)
        self._detector.keep_targets_out(vertices, as_rows(held), wanted)
        return as_points(wanted)

    def _let_hands_slip(self) -> None:
        """After a step: hands that cannot hold on let go."""
        lost = [hand for hand in self._hands if self._hands.slips(hand, self._motion.q, self._h)]
        self.slipped = tuple(int(vertex) for hand in lost for vertex in hand.vertices)
        if lost:
            self._let_go(self.slipped)

    @property
    def _firmly_held(self) -> np.ndarray:
        """(n,) bool: vertices that are where somebody wants them, whatever is in the way."""
        held: np.ndarray = self.system.pin_weight > 0
        for hand in self._hands:
            held[hand.vertices] = False
        return held

    def _targets_before(self) -> np.ndarray:
        """Where pins were at the end of the last step; new ones are where they are to be."""
        first = self._grabs.targets.copy()
        if self._last_targets is not None:
            vertices, places = self._last_targets
            _, old, new = np.intersect1d(vertices, self._model.pinned, assume_unique=True, return_indices=True)
            first[new] = places[old]
        return self._on_paths(first, self.time)

    def _targets_after(self, targets: np.ndarray, part: int) -> np.ndarray:
        """Targets (p, 3) after so many parts of a frame; those of pins on paths are there exactly."""
        return self._on_paths(targets, self.time + part * self._length) if self._led else targets

    def _rows_on_paths(self) -> list[tuple[PinPath, np.ndarray, np.ndarray, np.ndarray]]:
        """Paths, the targets that go along each, which of its places these are, and where all its pins are at home."""
        if not self._model.paths:
            return []
        row_of = {int(vertex): row for row, vertex in enumerate(self._model.pinned)}
        free, home, found = {*row_of} - {*self.grabbed}, self._model.targets, []
        for path in self._model.paths:
            rows = np.array([row_of[vertex] for vertex in path.vertices.tolist()], np.int64)
            some = np.flatnonzero([vertex in free for vertex in path.vertices.tolist()])
            found.append((path, rows[some], some, home[rows]))
        return found

    def _on_paths(self, targets: np.ndarray, time: float) -> np.ndarray:
        """Targets (p, 3) of all pins, those on paths where these lead at a time; what is grabbed stays in the hand."""
        if not self._led:
            return targets
        out = targets.copy()
        for path, rows, some, home in self._led:
            out[rows] = path.places(time, home)[some]
        return out

    def move(self, where: str | Sequence[int] | np.ndarray, path: Path | None) -> None:
        """Let vertices follow a path from the next step on; those that are not pinned are, from now on.

            sim.move("waist", vv.Keyframes([2, 3], shifts=[[0, 0, 0], [0, 0.3, 0]]))

        Paths are in simulated time (`sim.time`). Shifts are from where the model's pins have their targets; those of
        vertices that were free are where they are now. What is grabbed follows when it is released.

        Args:
            where: a group's name, or numbers of vertices.
            path: as for `Model.pin`; None: they stay where they are.
        """
        plain = self._grabs.plain
        index = plain.mesh.select(where)
        pins, places = plain.pinned, self._grabs.targets[: len(plain.pinned)]
        at = as_points(self._motion.q)
        if path is None:
            at[pins] = places
        else:
            at[pins] = plain.targets
        listed = index if isinstance(where, str) else np.asarray(where).ravel()
        self.replace_model(plain.unpin(listed).pin(listed, target=at[listed], path=path))


def _as_shares(given: ArrayLike, count: int) -> np.ndarray:
    """Positive numbers, scaled so that their sum is one."""
    shares = as_numbers("shares", given, (count,))
    if not (shares > 0).all():
        raise InputError(f"every vertex of a hand has a positive share of its force, not {shares.min()!r}")
    return np.asarray(shares / shares.sum())
