// Boxes and strokes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_POINTS, length, parts, thinned, within, type Place } from "../src/tools";

test("a stroke is thinned to what a message holds, its ends included", () => {
  const long = Array.from({ length: 1000 }, (_, k): Place => [k, Math.sin(k)]);
  const few = thinned(long);
  assert.equal(few.length, MOST_POINTS);
  assert.deepEqual([few[0], few[few.length - 1]], [long[0], long[999]]);
  assert.deepEqual(thinned([[0, 0], [0, 0], [3, 4]]), [[0, 0], [3, 4]]);
  assert.equal(length([[0, 0], [3, 4], [3, 5]]), 6);
});

test("a box has what is seen in it, whichever corner it was begun at", () => {
  const seen = (vertex: number): Place | null => (vertex === 2 ? null : [10 * vertex, 5 * vertex]);
  for (const [a, b] of [[[5, 2], [35, 18]], [[35, 2], [5, 18]]] as [Place, Place][]) {
    assert.deepEqual(within(6, a, b, seen), [1, 3]);
  }
});

test("long lists go in several messages", () => {
  assert.deepEqual(parts([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
  assert.deepEqual(parts([], 2), []);
});
