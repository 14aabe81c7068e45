"""Boxes eight at a time, against one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from vivace.backends.cpu.boxes import keep_overlapping
from vivace.backends.cpu.simd import load4


@njit
def _overlapping(low, high, blocks, begin, end, out, held):
    return keep_overlapping(load4(low, 0), load4(high, 0), blocks.ctypes.data, begin, end, out.ctypes.data, held)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_overlapping_boxes_are_kept_in_order(seed):
    """Of a block of eight those between begin and end, after what was there; boxes that touch overlap."""
    rng = np.random.default_rng(seed)
    boxes = np.sort(rng.integers(0, 5, (24, 4, 2)), axis=2).astype(np.float32)
    blocks = np.ascontiguousarray(boxes.reshape(3, 8, 4, 2).transpose(0, 3, 2, 1))
    seen = set()
    for _ in range(200):
        low, high = np.sort(rng.integers(0, 5, (1, 4, 2)), axis=2).astype(np.float32).transpose(2, 0, 1).copy()
        begin = int(rng.integers(0, 24))
        end, held = begin + int(rng.integers(1, 12)), int(rng.integers(0, 3))
        expected = [
            j
            for j in range(begin, min(end, begin // 8 * 8 + 8))
            if (low[0] <= boxes[j, :, 1]).all() and (boxes[j, :, 0] <= high[0]).all()
        ]
        out = np.full(16, -1, np.int32)
        assert _overlapping(low, high, blocks, begin, end, out, held) == held + len(expected)
        assert out[held : held + len(expected)].tolist() == expected
        assert (out[:held] == -1).all()
        seen.add(len(expected))
    assert len(seen) > 3
