// How much is drawn: levels from the best to the least, and when the page goes from one to the next.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LEAST_RATIO, levels, Quality, QUALITY_CHOICES } from "../src/stage/quality";

/** Pictures that took so long each, until the level changes; how many there were, or null if it never did. */
function until(quality: Quality, ms: number, most = 5000): number | null {
  for (let k = 1; k <= most; k++) if (quality.measure(ms)) return k;
  return null;
}

test("it begins with the screen's own pixels, 2 to one of CSS at most, and with threads where the processor draws", () => {
  assert.equal(new Quality(3, false, "auto").level.ratio, 2);
  assert.equal(new Quality(1.5, false, "auto").level.ratio, 1.5);
  assert(new Quality(1, false, "auto").level.fine);
  const software = new Quality(2, true, "auto").level;
  assert.equal(software.ratio, 0.75);
  assert(software.threads && !software.fine);
});

test("no level has fewer pixels than can be read, and none asks for more than the one before", () => {
  for (const device of [0.5, 1, 1.25, 1.5, 2, 3]) {
    for (const frugal of [true, false]) {
      const all = levels(device, frugal);
      for (const [k, level] of all.entries()) {
        assert(level.ratio >= LEAST_RATIO, `${device} ${frugal} ${k}`);
        assert(k === 0 || level.ratio <= all[k - 1].ratio, `${device} ${frugal} ${k}`);
        assert(k === 0 || !level.fine || all[k - 1].fine);
      }
    }
  }
});

test("slow pictures cost one level after the other, down to the least", () => {
  const quality = new Quality(2, false, "auto");
  for (const level of levels(2, false).slice(1)) {
    // The mean goes to 100 as 100 - 84 (11/12)^k, and is above 50 from k = 6 on; before 25 pictures nothing is judged.
    assert.equal(until(quality, 100), 25);
    assert.deepEqual(quality.level, level);
  }
  assert.equal(until(quality, 100), null);
});

test("pictures of 50 ms or less cost nothing", () => {
  assert.equal(until(new Quality(2, false, "auto"), 50), null);
});

test("one long picture is no reason: it counts as 250 ms at most", () => {
  const quality = new Quality(2, false, "auto");
  assert.equal(until(quality, 16, 30), null);
  assert(!quality.measure(60_000)); // a mean of 16 + 234/12 = 35.5
  assert.equal(until(quality, 16, 300), null);
});

test("a better level comes back after 400 quick pictures, twice, and then no more", () => {
  const quality = new Quality(2, false, "auto");
  const [best, second] = levels(2, false);
  for (let round = 0; round < 2; round++) {
    assert.equal(until(quality, 100), 25);
    // The mean starts at 16 and falls as 8 + 8 (11/12)^k: below 14 from k = 4 on, so that the 401st of them is k = 404.
    assert.equal(until(quality, 8), 404);
    assert.deepEqual(quality.level, best);
  }
  assert.equal(until(quality, 100), 25);
  assert.equal(until(quality, 8), null);
  assert.deepEqual(quality.level, second);
});

test("what the person says holds, however long pictures take", () => {
  for (const frugal of [true, false]) {
    const quality = new Quality(1, frugal, "high");
    assert(quality.level.fine && quality.level.threads && quality.level.backdrop);
    assert.equal(until(quality, 200, 100), null);
    quality.choose("low");
    assert.deepEqual(quality.level, levels(1, frugal).at(-1));
    assert.equal(until(quality, 1, 1000), null);
    quality.choose("auto");
    assert.equal(until(quality, 100), 25);
  }
  assert.deepEqual(QUALITY_CHOICES, ["auto", "high", "low"]);
});
