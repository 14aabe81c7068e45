// The axis of residuals, whatever they are.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decades, marks } from "../src/panel/plots/decades";

test("values lie between powers of ten, as these are written", () => {
  assert.deepEqual(decades(0.02, 3), [1e-2, 10]);
  assert.deepEqual(decades(0.01, 1), [1e-2, 1]);
  assert.deepEqual(decades(2e-24, 3e-20), [1e-24, 1e-19]);
});

test("there is at least one decade", () => {
  assert.deepEqual(decades(1, 1), [0.1, 1]);
  assert.deepEqual(decades(5, 5), [1, 10]);
});

test("twelve decades are shown at most, and none beyond thirty", () => {
  assert.deepEqual(decades(1e-19, 0.5), [1e-12, 1]);
  assert.deepEqual(decades(5e-324, 1e-25), [1e-30, 1e-25]);
  assert.deepEqual(decades(1, 1.7e308), [1e18, 1e30]);
});

test("nothing to show", () => {
  for (const [low, high] of [[null, null], [0, 1], [NaN, NaN], [1, Infinity], [5e-324, 1e-40]] as const) {
    assert.deepEqual(decades(low, high), [1e-3, 1]);
  }
});

test("marks are powers of ten, few where there are many", () => {
  assert.deepEqual(marks(1e-26, 1e-23), [1e-26, 1e-25, 1e-24, 1e-23]);
  assert.deepEqual(marks(1e-12, 1), [1e-12, 1e-9, 1e-6, 1e-3, 1]);
  for (let low = -30; low < 30; low++) {
    for (let high = low + 1; high <= Math.min(low + 12, 30); high++) {
      const found = marks(Number(`1e${low}`), Number(`1e${high}`));
      assert.equal(found.length >= 1 && found.length <= 6, true, `${low} to ${high}: ${found}`);
    }
  }
});
