"""A step's energy as descent methods see it: positions, minus the gradient there, and whether ε has fallen.

Positions and residuals are float32 rows of a layout, contacts included; the arithmetic of an element and all sums are
float64. How ε changes between two places is not the difference of two large numbers: the trapezium rule over the
residuals, exact for whatever is quadratic, less what it makes too much of springs, contacts and hyperelastic elements.
(Of tetrahedra that projective dynamics knows it is the trapezium rule alone.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...constraints.kernels.local import gather
from ...energy.system import System
from ..projective.correcting import blocks_of
from ..projective.kernels.acceleration import BLOCK
from ..projective.kernels.block_contacts import contact_gains, wall_gains
from ..projective.kernels.block_galerkin import turning_blocks
from ..projective.kernels.quasi_newton import judge_blocks
from ..projective.kernels.sweep import store_residual
from ..projective.layout import Layout

PADDED = 4  # springs that are judged at once
STILL = 2.0**-22  # of the largest coordinate: four times half an ulp, as in `Layout.resolution`
ROUNDING = 1e-6  # of the work done: what float32 leaves uncertain of a change of energy


class Problem:
    """The energy of a step around the positions of a layout.

    Attributes:
        q: positions (n, 4), the layout's own.
        r: minus the gradient at q after `look` (n, 4), N.
        old, r_old: the place that `change` compares q with, and r there.
        scale: the diagonal of the Hessian after `precondition` (n, 4), N/m: three entries, and one that is nothing.
        rest: of that, what is there beside hyperelastic elements (n, 4).
        preconditioned: how often it was made, for those who keep more of the Hessian just as long.
    """

    def __init__(self, layout: Layout):
        self.layout, n, threads = layout, layout.n, layout.threads
        self.q, self.preconditioned = layout.q, 0
        self.r, self.old, self.r_old, self.scale = (np.zeros((n, 4), np.float32) for _ in range(4))
        look = [*layout.local_phases, self._residual()]
        hold = [phase for potential in layout.potentials for phase in potential.holding()]
        self._look = Plan(look, threads)
        self._hold = Plan(hold, threads) if hold else None
        self._products = blocks_of(n, 2)
        arrays = {"q": self.q, "q_old": self.old, "r": self.r, "r_old": self.r_old}
        judge = [judge_blocks.over(0, n, partial=self._products, grain=BLOCK, **arrays)]
        self._sums = list[np.ndarray]()
        for phase, sums in self._missed():
            judge.append(phase)
            self._sums.append(sums)
        self._judge = Plan(judge, threads)
        self._precondition = Plan(self._curvature(), threads)
        self.adapt(layout.system)

    def _residual(self) -> Phase:
        arrays = {**store_residual.select(self.layout.swept), "out": self.r}
        return store_residual.over(0, self.layout.n, **arrays)

    def _missed(self) -> list[tuple[Phase, np.ndarray]]:
        """What the trapezium rule makes too much: phases, each with sums in blocks."""
        layout, found = self.layout, []
        springs = layout.system.springs
        if springs:
            pairs = np.concatenate([group.vertices for group in springs])
            pull = np.concatenate([group.weights * group.parameters[:, 0] for group in springs])
            room = -len(pairs) % PADDED
            ends = np.concatenate([layout.rank[pairs], np.zeros((room, 2), np.int32)]).astype(np.int32)
            sums = np.zeros(-(-len(ends) // BLOCK))
            first, second = (np.ascontiguousarray(ends[:, k]) for k in range(2))
            wl = np.append(pull, np.zeros(room)).astype(np.float32)
            moved = {"q": self.q, "q_old": self.old, "partial": sums}
            springs_judged = turning_blocks.over(0, len(ends), grain=BLOCK, first=first, second=second, wl=wl, **moved)
            found.append((springs_judged, sums))
        if layout.contacts is not None:
            stage = layout.contacts
            for kernel, table in ((contact_gains, stage.pairs), (wall_gains, stage.walls)):
                sums = np.zeros(-(-stage.room // BLOCK))
                judged = {**kernel.select(table), "q_old": self.old, "partial": sums}
                found.append((kernel.over(0, stage.room, grain=BLOCK, **judged), sums))
        return [*found, *(potential.judging(self.old) for potential in layout.potentials)]

    def _curvature(self) -> list[Phase]:
        """The diagonal of the Hessian: that of Y where there is nothing better."""
        layout = self.layout
        self.rest = np.zeros((layout.n, 4), np.float32)
        gathers = [phase.arrays for phase in layout.local_phases if phase.kernel is gather]
        if not layout.potentials:
            return []
        slot_at, shares = gathers[0]["slot_at"], gathers[0]["shares"]
        straight, mixed = np.zeros_like(shares), np.zeros_like(shares)
        own = [phase for potential in layout.potentials for phase in potential.diagonal(straight, mixed)]
        added = {"slot_at": slot_at, "shares": straight, "constant": self.rest, "base": self.scale}
        return [*own, gather.over(0, layout.n, label="Hessian", **added)]

    def adapt(self, system: System) -> None:
        """Go on with another diagonal: pins or contacts have changed."""
        proxy = np.zeros(system.n)
        for term in system.hyperelastic:
            squares = np.square(term.proxy.operator).sum(axis=1) * term.proxy.weights[:, None]
            proxy += np.bincount(term.vertices.ravel(), squares.ravel(), minlength=system.n)
        self.rest[:, :3] = np.maximum(system.diagonal - proxy, system.inertia)[self.layout.order][:, None]

    def look(self) -> float:
        """The residual at q; returns its norm (N)."""
        self._look.run()
        return self.layout.residual()

    def hold(self) -> None:
        """Interpolants of the next iteration, where conversion is "held"."""
        if self._hold is not None:
            self._hold.run()

    def precondition(self) -> None:
        """`scale` at q."""
        self.preconditioned += 1
        self.scale[:, 3] = 1.0
        if self.layout.potentials:
            self._precondition.run()
            self.scale[:, 3] = 1.0
        else:
            self.scale[:, :3] = self.layout.diagonal[:, None]

    def mark(self) -> None:
        """Compare with this place from now on."""
        np.copyto(self.old, self.q)
        np.copyto(self.r_old, self.r)

    def back(self) -> None:
        """Go back to the marked place."""
        np.copyto(self.q, self.old)
        np.copyto(self.r, self.r_old)

    def settled(self) -> bool:
        """Whether what is left of the residual is rounding: it would move nothing by more than positions are known."""
        with np.errstate(invalid="ignore"):
            return float(np.abs(self.r / self.scale).max()) <= STILL * float(np.abs(self.q).max())

    def change(self) -> tuple[float, float]:
        """ε(q) - ε(old) in joules, and the work that r_old would have done: about what float32 can tell of it."""
        self._judge.run(1, first=1)
        products = self._products.reshape(-1, 2).sum(axis=0)
        with np.errstate(invalid="ignore"):
            too_much = sum(float(sums.sum()) for sums in self._sums)
        return -0.5 * float(products.sum()) - too_much, abs(float(products[1]))

    def largest(self, scale: Callable[[], np.ndarray], rounds: int = 24) -> float:
        """About the largest eigenvalue of P⁻¹H at q, by the power method on differences of the gradient.

        `scale`: gives P, once the problem has its own.
        """
        self.look()
        self.precondition()
        self.mark()
        step = 1e-3 * float(np.ptp(self.q[:, :3], axis=0).max()) / np.sqrt(max(len(self.q), 1))
        signs = (np.arange(self.q.size, dtype=np.uint32).reshape(self.q.shape) * np.uint32(2654435761)) >> np.uint32(31)
        v, found = (2.0 * signs - 1.0).astype(np.float32), 1.0
        v[:, 3] = 0.0
        for _ in range(rounds):
            v *= np.float32(step / np.sqrt(np.mean(np.square(v), dtype=np.float64)))
            np.copyto(self.q, self.old + v)
            self.look()
            new = (self.r_old - self.r) / scale()
            found = float(np.linalg.norm(new.astype(np.float64)) / np.linalg.norm(v.astype(np.float64)))
            v = new
        self.back()
        return found

    def size(self) -> float:
        """The residual's norm in which modes count by their energy, √(r·P⁻¹r)."""
        r = self.r.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return float(np.sqrt(np.sum(r * r / self.scale)))

    def lower(self) -> bool:
        """Whether ε is not higher at q than at the marked place, as far as rounding lets one say."""
        change, work = self.change()
        return change <= ROUNDING * work
