"""The dragon: one piece, symmetric, well shaped, with the parts that it promises."""

import numpy as np
import pytest

from vivace import InputError, mesh


@pytest.mark.slow
@pytest.mark.parametrize("n", [32, 40])
def test_shape(n):
    """It stands on y = 0, is as long as told, and has legs, a raised head, a tail and wings on both sides."""
    body = mesh.dragon(n, length=2.0)
    low, high = body.bounds
    assert low[1] == 0.0
    assert high[0] - low[0] == pytest.approx(2.0)
    count, _ = mesh.connected_components(body.n_vertices, body.edges)
    assert count == 1
    assert mesh.tet_quality(body.vertices, body.tets).min() > 0.2
    assert high[2] == pytest.approx(-low[2], rel=1e-9)
    groups = {name: body.vertices[index] for name, index in body.groups.items()}
    assert groups["tail"][:, 0].max() < -0.9
    assert groups["head"][:, 1].mean() > groups["back"][:, 1].mean() > 0.4
    for name in ("feet", "wings"):
        assert (groups[name][:, 2] > 0).sum() == (groups[name][:, 2] < 0).sum() > 0
    assert {tuple(np.sign(one)) for one in groups["feet"][:, [0, 2]]} == {(1, 1), (1, -1), (-1, 1), (-1, -1)}


def test_too_coarse():
    with pytest.raises(InputError, match="n must be 24 or more, not 8"):
        mesh.dragon(8)
