"""Pinocchio's contact solvers, PGS and ADMM, as solvers of our contact problems: pip install pin.

Pinocchio has no time stepper. What it has is solvers of v = G λ + g, λ in Coulomb's cones, for a Delassus matrix G and
a free velocity g. Both are ours here, so are contacts, the push apart and the way to new poses: the solve is not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from vivace.rigid.problem import ContactProblem
from vivace.solvers.rigid import ContactSolver, Solution

ROWS = [1, 2, 0]  # tangents first, then the normal; friction of spin is not known there
SWEEPS = 50  # of PGS


@dataclass(eq=False)
class PinocchioSolver(ContactSolver):
    """One of both, with its own tolerance.

    PGS judges each contact right after its own update, and stops after one sweep where every contact has its answer at
    that moment, whatever the later ones do to it. It is called again from where it ended until no impulse changes by
    more than its tolerance, SWEEPS times at most.
    """

    kind: str = "ADMM"
    tolerance: float = 1e-6
    most: int = 1000
    seconds: float = field(default=0.0, init=False)  # of the solver alone, all solves together

    name = "pinocchio"

    def __post_init__(self) -> None:
        super().__post_init__()
        import pinocchio

        self.pin: Any = pinocchio
        self.model = pinocchio.Model()
        self.joint = self.model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "body")
        self.pools: dict[float, list[Any]] = {}
        self.settings = getattr(pinocchio, f"{self.kind}SolverSettings")()
        self.settings.max_iterations = self.most
        for name in ("feasibility", "complementarity"):
            setattr(self.settings, f"absolute_{name}_tol", self.tolerance)
            setattr(self.settings, f"relative_{name}_tol", self.tolerance)

    def iteration(self, scheme: Any) -> list[Any]:
        """None: the solve is another's."""
        return []

    def _cones(self, friction: np.ndarray) -> tuple[Any, Any]:
        models, datas = self.pin.StdVec_ConstraintModel(), self.pin.StdVec_ConstraintData()
        used: dict[float, int] = {}
        for mu in friction.tolist():
            pool, at = self.pools.setdefault(mu, []), used.get(mu, 0)
            if at == len(pool):
                point = self.pin.PointContactConstraintModel(self.model, 0, self.joint)
                point.setFriction(mu)
                model = self.pin.ConstraintModel(point)
                pool.append((model, model.createData()))
            models.append(pool[at][0])
            datas.append(pool[at][1])
            used[mu] = at + 1
        return models, datas

    def solve(self, problem: ContactProblem, iterations: int = 50, **options: Any) -> Solution:
        """Impulses; `iterations` and tolerances are its own, threads there is one."""
        count = problem.contacts
        if not count:
            return super().solve(problem, iterations)
        began = time.perf_counter()
        found = problem.operator()
        blocks = found.data[:, ROWS][:, :, ROWS]
        matrix = sp.bsr_array((blocks, found.indices, found.indptr), shape=(3 * count, 3 * count))
        if self.kind == "ADMM" and count > 200:
            columns = sp.csc_matrix(matrix)
            columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
            delassus = self.pin.DelassusOperatorSparse(columns)
        else:
            delassus = self.pin.DelassusOperatorDense(matrix.toarray())
        g = problem.b[:, ROWS].ravel()
        models, datas = self._cones(problem.friction[:, 0])
        result = getattr(self.pin, f"{self.kind}SolverResult")()
        solver = getattr(self.pin, f"{self.kind}ConstraintSolver")()
        start = options.get("start")
        x = np.zeros(3 * count) if start is None else np.ascontiguousarray(start[:, ROWS]).ravel()
        ready, made = time.perf_counter(), 0
        for _ in range(SWEEPS if self.kind == "PGS" else 1):
            result.setConstraintImpulseGuess(x)
            solver.solve(delassus, g, models, datas, self.settings, result)
            before, x = x, np.array(result.retrieveConstraintImpulses())
            made += result.iterations + 1
            change = float(np.abs(x - before).max())
            if made >= self.most or change <= self.tolerance * max(np.abs(x).max(), 1e-12):
                break
        took = time.perf_counter() - ready
        self.seconds += took
        impulses = np.zeros((count, 4))
        impulses[:, ROWS] = x.reshape(-1, 3)
        none = np.zeros(0, np.int64)
        return Solution(impulses, np.array([change]), made, 0, none, False, ready - began, took, self.kind)
