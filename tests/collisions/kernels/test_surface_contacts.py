"""Contacts of vertices with triangles against brute force in float64: closest points by trying every part of a
triangle, ways by looking at many times, and which pairs count by distances to all triangles around.

What the kernel may decide either way (a pair at the edge of the reach, or as near to two triangles) is left open, and
must be little.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import to_rows
from vivace.backends.cpu.executor import Plan
from vivace.collisions.contacts import feature_ids
from vivace.collisions.kernels.proximity import GRAZE, TOUCH
from vivace.collisions.kernels.surface_boxes import EVERY, REACH, SETTINGS, SMALLEST, THICKNESS
from vivace.collisions.kernels.surface_contacts import REST_SHARE, touch_triangles

THICK, WITHIN = 0.1, 0.15
CHUNKS = 3
TIMES = np.linspace(0.0, 1.0, 601)

# --- brute force ------------------------------------------------------------------------------------------------------


def nearest(p, corners):
    """Barycentric coordinates (m, 3) of the points of triangles (m, 3, 3) that are nearest to p (m, 3)."""
    best, shares = np.full(len(p), np.inf), np.zeros((len(p), 3))

    def offer(candidate, allowed):
        distance = np.where(allowed, np.linalg.norm(np.einsum("mk,mkc->mc", candidate, corners) - p, axis=1), np.inf)
        better = distance < best
        best[better], shares[better] = distance[better], candidate[better]

    for k in range(3):  # the sides
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        t = np.clip(np.einsum("mc,mc->m", p - a, b - a) / np.einsum("mc,mc->m", b - a, b - a), 0, 1)
        candidate = np.zeros((len(p), 3))
        candidate[:, k], candidate[:, (k + 1) % 3] = 1 - t, t
        offer(candidate, np.ones(len(p), bool))
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(u, v)
    square = np.einsum("mc,mc->m", normal, normal)
    w = p - corners[:, 0]
    second = np.einsum("mc,mc->m", np.cross(w, v), normal) / square
    third = np.einsum("mc,mc->m", np.cross(u, w), normal) / square
    candidate = np.column_stack([1 - second - third, second, third])
    offer(candidate, (candidate >= 0).all(axis=1))  # the inside
    return shares


def distances(p, corners):
    return np.linalg.norm(p - np.einsum("mk,mkc->mc", nearest(p, corners), corners), axis=1)


class Sheets:
    """Two crumpled sheets one above the other, all pairs of a vertex and a triangle without it, in three chunks."""

    def __init__(self, seed, speed, side=4, every=False):
        rng = np.random.default_rng(seed)
        x, z = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
        flat = 0.25 * np.column_stack([x.ravel(), np.zeros(side * side), z.ravel()])
        cell = np.array([a * side + b for a in range(side - 1) for b in range(side - 1)])
        one = np.array([[c, c + 1, c + side, c + 1, c + side + 1, c + side] for c in cell]).reshape(-1, 3)
        self.triangles = np.concatenate([one, one + side * side]).astype(np.int32)
        self.n = 2 * side * side
        self.rest = np.concatenate([flat, flat + np.array([0.1, 0.08, 0.07])]) + 0.01 * rng.standard_normal((self.n, 3))
        self.bodies = np.repeat([0, 1], side * side).astype(np.int32)
        self.q = to_rows(self.rest + 0.04 * rng.standard_normal((self.n, 3)))
        self.s = to_rows(self.q[:, :3] + speed * rng.standard_normal((self.n, 3)))
        self.wanted, self.every = np.ones(self.n, np.int32), every
        listed = [(v, t) for v in range(self.n) for t, own in enumerate(self.triangles) if v not in own]
        self.pairs = rng.permutation(np.array(listed, np.int32))
        self.x, self.y = self.q[:, :3].astype(np.float64), self.s[:, :3].astype(np.float64)

    def around(self):
        """Bits of what no earlier triangle has, vertices across sides, and neighbours by vertex, by plain loops."""
        owner, opposite = np.zeros(len(self.triangles), np.int32), np.full((len(self.triangles), 3), -1, np.int32)
        seen, near = set(), [set() for _ in range(self.n)]
        for t, own in enumerate(self.triangles.tolist()):
            for k in range(3):
                corner, side = own[k], frozenset((own[k], own[(k + 1) % 3]))
                owner[t] |= (corner not in seen) << (1 + k) | (side not in seen) << (4 + k)
                near[own[k]] |= set(own) - {own[k]}
                for other in self.triangles[[u for u in range(len(self.triangles)) if u != t]].tolist():
                    if side <= set(other):
                        (opposite[t, k],) = set(other) - side
            seen |= {*own, *(frozenset((own[k], own[(k + 1) % 3])) for k in range(3))}
        pointers = np.concatenate([[0], np.cumsum([len(own) for own in near])]).astype(np.int32)
        return owner, opposite, pointers, np.array([j for own in near for j in sorted(own)], np.int32)

    def run(self, threads=1):
        """{(vertex, triangle): (coefficients, plane)} of what the kernel finds, and its counts."""
        share = -(-len(self.pairs) // CHUNKS)
        room = share + 5
        pairs, counts = np.full((CHUNKS, room, 2), -1, np.int32), np.full((CHUNKS, 8), -1, np.int64)
        for chunk in range(CHUNKS):
            own = self.pairs[chunk * share : (chunk + 1) * share]
            pairs[chunk, : len(own)], counts[chunk, 0] = own, len(own)
        settings = np.zeros(SETTINGS)
        settings[[REACH, THICKNESS, SMALLEST, EVERY]] = WITHIN, THICK, 1e-3 * THICK, self.every
        owner, opposite, pointers, neighbours = self.around()
        vertices = np.full((CHUNKS, room, 4), -1, np.int32)
        coefficients, planes = np.zeros((2, CHUNKS * room, 4), np.float32)
        ids = np.full((CHUNKS, room), -1, np.int64)
        moved = np.linalg.norm(self.y - self.x, axis=1)
        phase = touch_triangles.over(
            *(0, CHUNKS),
            pairs=pairs,
            counts=counts,
            triangles=self.triangles,
            q=self.q,
            s=self.s,
            settings=settings,
            rest=self.rest,
            bodies=self.bodies,
            vertices=vertices,
            coefficients=coefficients,
            planes=planes,
            ids=ids,
            motion=np.nextafter(moved.astype(np.float32), np.float32(np.inf)),
            owner=owner,
            opposite=opposite,
            pointers=pointers,
            neighbours=neighbours,
            wanted=self.wanted,
            passive=np.zeros(self.n, np.int32),
            thicknesses=np.array([THICK]),
            chunks=CHUNKS,
        )
        Plan([phase], threads).run()
        numbers = {(int(own[0]), int(own[1])): k for k, own in enumerate(self.pairs)}
        triangle_of = {frozenset(own): t for t, own in enumerate(self.triangles.tolist())}
        found = {}
        for chunk in range(CHUNKS):
            count, last = counts[chunk, 2], -1
            for k in range(count):
                v, *own = vertices[chunk, k].tolist()
                key = v, triangle_of[frozenset(own)]
                assert own == self.triangles[key[1]].tolist()
                assert ids[chunk, k] == feature_ids(*key)
                assert key not in found
                assert last < numbers[key]  # in the order of the pairs
                assert chunk * share <= numbers[key] < (chunk + 1) * share
                last = numbers[key]
                found[key] = coefficients[chunk * room + k].astype(np.float64), planes[chunk * room + k]
            assert (vertices[chunk, count:] == -1).all()
            assert (ids[chunk, count:] == -1).all()
        return found

    def ways(self):
        """Every pair, its distances at all TIMES, and by how much they may change in between.

        Of pairs so far apart at the start that they cannot come within reach, the start alone.
        """
        fours = np.column_stack([self.pairs[:, 0], self.triangles[self.pairs[:, 1]]])
        starts, motions = self.x[fours], (self.y - self.x)[fours]
        first = distances(starts[:, 0], starts[:, 1:])
        fastest = np.linalg.norm(motions[:, 1:] - motions[:, :1], axis=2).max(axis=1)
        for k, pair in enumerate(self.pairs.tolist()):
            if first[k] > WITHIN * (1 + GRAZE) + 1.01 * fastest[k]:
                yield *pair, first[k : k + 1] - fastest[k], 0.0
                continue
            way = starts[k] + TIMES[:, None, None] * motions[k]
            yield *pair, distances(way[:, 0], way[:, 1:]), fastest[k] * TIMES[1]

    def counts_at_start(self, v, t):
        """Whether a pair that is within reach counts; None if two triangles are so equally near that both ways go.

        Inside: always. Else if no triangle that shares the side or corner is nearer, and none of them is listed before.
        """
        corners = self.triangles[t]
        shares = nearest(self.x[[v]], self.x[corners][None])[0]
        on = corners[shares > 0]
        if len(on) == 3:
            return True
        sharing = [u for u, own in enumerate(self.triangles) if set(on) <= set(own)]
        here = np.repeat(self.x[[v]], len(sharing), axis=0)
        each = distances(here, self.x[self.triangles[sharing]])
        lead = 1 - each.min() / each[sharing.index(t)]
        if 1e-9 < lead < 1e-3:
            return None
        return lead <= 1e-9 and t == min(sharing)


def open_or(decided, found, key):
    """Compare one pair with what was found; 1 if it was open."""
    if decided is None:
        return 1
    assert (key in found) == decided, key
    return 0


# --- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_closest_points_of_the_twin(seed):
    """No point of a fine grid of barycentric coordinates is nearer, and the best of them is hardly further."""
    rng = np.random.default_rng(seed)
    p, corners = rng.standard_normal((50, 3)), rng.standard_normal((50, 3, 3))
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    all_ = np.linalg.norm(np.einsum("gk,mkc->mgc", grid, corners) - p[:, None], axis=2).min(axis=1)
    assert (distances(p, corners) <= all_ + 1e-12).all()
    assert (all_ <= distances(p, corners) + 0.03 * np.ptp(corners, axis=1).max(axis=1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_at_rest(seed):
    """What is within reach, once each: n = z/|z|, coefficients 1 and -shares, gaps at most 0.9 of those at rest."""
    sheets = Sheets(seed, 0.0)
    found = sheets.run()
    left_open = inside = borders = 0
    for v, t in sheets.pairs.tolist():
        corners = sheets.triangles[t]
        shares = nearest(sheets.x[[v]], sheets.x[corners][None])[0]
        z = sheets.x[v] - shares @ sheets.x[corners]
        distance = np.linalg.norm(z)
        decided = False if distance >= WITHIN else sheets.counts_at_start(v, t)
        left_open += open_or(decided, found, (v, t))
        if (v, t) not in found:
            continue
        coefficients, plane = found[v, t]
        np.testing.assert_allclose(coefficients, [1, *-shares], rtol=0, atol=1e-6)
        np.testing.assert_allclose(plane[:3], z / distance, rtol=0, atol=1e-6)
        at_rest = distances(sheets.rest[[v]], sheets.rest[corners][None])[0]
        same = sheets.bodies[v] == sheets.bodies[corners[0]]
        assert plane[3] == pytest.approx(min(THICK, REST_SHARE * at_rest) if same else THICK, rel=1e-6)
        inside, borders = inside + (shares > 0).all(), borders + (shares == 0).any()
    assert min(inside, borders) > 5
    assert left_open < 0.02 * len(sheets.pairs)


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_on_the_way(seed, speed):
    """By the smallest distance at 601 times: never within reach, within reach on the way, or through each other.

    Between two times the distance changes by no more than half of the relative motion in between. A plane has the
    vertex on the side it comes from: n · z > 0 at the start, unless it is a contact later on.
    """
    sheets = Sheets(seed, speed)
    found = sheets.run()
    left_open, kinds = 0, {"apart": 0, "at start": 0, "on the way": 0, "through": 0}
    for v, t, d, slack in sheets.ways():
        four = [v, *sheets.triangles[t]]
        start, least, touch = d[0], d.min(), TOUCH * THICK
        if least > WITHIN * (1 + GRAZE) + slack:
            kind, decided = "apart", False
        elif start > touch and least < 0.5 * touch - slack:
            kind, decided = "through", True
        elif start < WITHIN and least > touch + slack:
            kind, decided = "at start", sheets.counts_at_start(v, t)
        elif start >= WITHIN and least < WITHIN - slack:
            kind, decided = "on the way", True
        else:
            kind, decided = "?", None
        left_open += open_or(decided, found, (v, t))
        kinds[kind] = kinds.get(kind, 0) + 1
        if (v, t) in found:
            coefficients, plane = found[v, t]
            assert coefficients.sum() == pytest.approx(0, abs=1e-6)
            assert np.linalg.norm(plane[:3]) == pytest.approx(1, abs=1e-6)
            if kind == "at start":
                z = coefficients @ sheets.x[four]
                np.testing.assert_allclose(plane[:3], z / np.linalg.norm(z), rtol=0, atol=1e-5)
    assert left_open < 0.1 * len(sheets.pairs)
    assert kinds["apart"] > 100
    assert speed == 0.1 or kinds["at start" if speed < 0.1 else "through"] > 10
    assert kinds["on the way"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 0.5])
def test_a_check_asks_for_every_pair(speed):
    """With EVERY set, borders count for each triangle, and the gap's place says whether the pair may have touched."""
    sheets = Sheets(2, speed, every=True)
    found = sheets.run()
    touched = set()
    for v, t, d, slack in sheets.ways():
        if d.min() < WITHIN - slack:
            assert (v, t) in found
        if d.min() > WITHIN * (1 + GRAZE) + slack:
            assert (v, t) not in found
        if (v, t) in found:
            gap = float(found[v, t][1][3])
            assert gap in (0.0, 1.0)
            if d.min() > 1.01 * TOUCH * THICK + slack:
                assert gap == 0
            elif d[0] > TOUCH * THICK and d.min() < 0.5 * TOUCH * THICK - slack:
                assert gap == 1
                touched.add((v, t))
    assert len(touched) > 20 or speed == 0
    assert len(found) > len(Sheets(2, speed).run())


def test_only_what_is_wanted():
    """Pairs in which no vertex is wanted are left out; all others are as they were."""
    sheets = Sheets(1, 0.1)
    everything = sheets.run()
    sheets.wanted[:] = 0
    assert not sheets.run()
    sheets.wanted[[3, 20]] = 1
    some = sheets.run()
    expected = {key for key in everything if {key[0], *sheets.triangles[key[1]].tolist()} & {3, 20}}
    assert set(some) == expected
    assert 0 < len(expected) < len(everything)
    for key in expected:
        np.testing.assert_array_equal(some[key][0], everything[key][0])
        np.testing.assert_array_equal(some[key][1], everything[key][1])


def test_threads_do_not_change_a_bit():
    first, second = (Sheets(3, 0.1).run(threads) for threads in (1, 2))
    assert list(first) == list(second)
    for key, own in first.items():
        np.testing.assert_array_equal(own[0], second[key][0])
        np.testing.assert_array_equal(own[1], second[key][1])
