"""What is sewn together is one as far as touching goes."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import to_rows
from vivace import mesh
from vivace.collisions.surfaces import Surfaces

THICKNESS = 0.01


@pytest.mark.parametrize("every", [False, True])
def test_what_is_sewn_together_does_not_touch_there(every):
    """Two sheets beside each other, a border of each at the same place: all contacts but those across the seam."""
    sheet = mesh.cloth(10, 10, 0.1, 0.1, plane="horizontal")
    x, triangles = sheet.vertices, sheet.triangles
    count, side = len(x), x[:, 0].max() - x[:, 0].min()
    mirrored = x * [-1, 1, 1] + [2 * x[:, 0].max(), 0, 0]
    mirrored[:, 1] += 0.1 * THICKNESS * (mirrored[:, 0] - x[:, 0].max()) / side
    both, faces = np.concatenate([x, mirrored]), np.concatenate([triangles, triangles[:, ::-1] + count])
    border = np.flatnonzero(x[:, 0] > x[:, 0].max() - 1e-6)
    alike = np.arange(2 * count, dtype=np.int32)
    alike[count + border] = border
    q, s = to_rows(both), to_rows(both + 0.3 * THICKNESS * np.random.default_rng(0).normal(size=both.shape))
    usual = Surfaces(both, faces, THICKNESS, every=every).find(q, s, 1)
    found = Surfaces(both, faces, THICKNESS, every=every, alike=alike).find(q, s, 2)
    named = alike[usual.vertices]
    first = np.where(np.arange(len(usual)) < usual.vertex_triangle, 1, 2)  # corners of the first feature
    shared = np.array([len(set(row[:k]) & set(row[k:])) > 0 for row, k in zip(named, first, strict=True)])
    assert shared.any()
    np.testing.assert_array_equal(found.ids, usual.ids[~shared])
    np.testing.assert_array_equal(found.planes, usual.planes[~shared])
