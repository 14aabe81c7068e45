// How the page keeps up, against a clock that tests move.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import type { FrameData } from "../src/messages";
import { slowFrame, slowPace, startThrottle } from "../src/panel/throttle";
import { PaceMeter, Sharpness } from "../src/stage/pace";
import { frame, pace } from "../src/store";
import { FakeClock } from "./clock";

let clock = new FakeClock();
beforeEach(() => {
  clock = new FakeClock();
  clock.install();
  pace.value = { fps: 0, latency: null };
});
afterEach(() => clock.remove());

test("frames a second are those of the last 1,000 ms", () => {
  const meter = new PaceMeter();
  for (let k = 0; k < 30; k++) {
    clock.pass(20);
    meter.drawn(-1);
  }
  assert.equal(meter.fps(), 30); // at 20, 40, ... 600 ms
  clock.pass(800); // 1,400: those before 400 have gone, and that of 400 itself counts
  assert.equal(meter.fps(), 11);
  clock.pass(200);
  assert.equal(meter.fps(), 1);
  clock.pass(1);
  assert.equal(meter.fps(), 0);
  assert.equal(meter.frames, 30);
});

test("latency is from the pointer's event to the frame that obeys it", () => {
  const meter = new PaceMeter();
  meter.ordered(1, 10);
  meter.ordered(2, 25);
  meter.ordered(3, 40);
  clock.pass(50);
  meter.drawn(0); // obeys none of them
  assert.deepEqual(meter.latencies, []);
  meter.drawn(2);
  assert.deepEqual(meter.latencies, [40, 25]);
  clock.pass(50);
  meter.drawn(3);
  meter.drawn(3); // each once
  assert.deepEqual(meter.latencies, [40, 25, 60]);
});

test("what was ordered on a connection that is lost is not waited for", () => {
  const meter = new PaceMeter();
  meter.ordered(1, 0);
  meter.forget();
  clock.pass(5000);
  meter.drawn(9);
  assert.deepEqual(meter.latencies, []);
});

test("a thousand orders that nobody obeys are kept, the oldest go", () => {
  const meter = new PaceMeter();
  for (let order = 1; order <= 1500; order++) meter.ordered(order, order);
  clock.pass(2000);
  meter.drawn(1500);
  assert.equal(meter.latencies.length, 1000);
  assert.equal(meter.latencies[0], 2000 - 501);
});

test("every half second the store has the frames and the median latency", () => {
  const meter = new PaceMeter();
  for (const [k, latency] of [5, 90, 7].entries()) {
    clock.pass(100);
    meter.ordered(k, clock.now - latency);
    meter.drawn(k);
  }
  clock.pass(199);
  assert.deepEqual(pace.value, { fps: 0, latency: null });
  clock.pass(1);
  assert.deepEqual(pace.value, { fps: 3, latency: 7 });
  const told = pace.value;
  clock.pass(500);
  assert(pace.value === told); // nothing new: whoever looks on is not woken
});

test("the median is of the last 200 latencies", () => {
  const meter = new PaceMeter();
  for (let k = 0; k < 1000; k++) {
    meter.ordered(k, clock.now - (k < 800 ? 500 : 3));
    meter.drawn(k);
  }
  clock.pass(500);
  assert.equal(pace.value.latency, 3);
  meter.reset();
  clock.pass(500);
  assert.deepEqual(pace.value, { fps: 0, latency: null });
});

// --- sharpness ------------------------------------------------------------------------------------------------------

/** Pictures that took so long each, until the ratio changes; how many there were, or null if it never did. */
function until(sharpness: Sharpness, ms: number, most = 5000): number | null {
  for (let k = 1; k <= most; k++) if (sharpness.measure(ms)) return k;
  return null;
}

test("it begins with the screen's own pixels, 2 to one of CSS at most, and 0.7 where the processor draws", () => {
  assert.equal(new Sharpness(3, false).ratio, 2);
  assert.equal(new Sharpness(1.5, false).ratio, 1.5);
  assert.equal(new Sharpness(2, true).ratio, 0.7);
});

test("slow pictures cost pixels, one step after the other, down to half", () => {
  const sharpness = new Sharpness(2, false);
  for (const ratio of [1, 0.75, 0.5]) {
    // The mean goes to 100 as 100 - 84 (11/12)^k, and is above 50 from k = 6 on; before 25 pictures nothing is judged.
    assert.equal(until(sharpness, 100), 25);
    assert.equal(sharpness.ratio, ratio);
  }
  assert.equal(until(sharpness, 100), null);
});

test("pictures of 50 ms or less cost nothing", () => {
  assert.equal(until(new Sharpness(2, false), 50), null);
});

test("one long picture is no reason: it counts as 250 ms at most", () => {
  const sharpness = new Sharpness(2, false);
  assert.equal(until(sharpness, 16, 30), null);
  assert(!sharpness.measure(60_000)); // a mean of 16 + 234/12 = 35.5
  assert.equal(until(sharpness, 16, 300), null);
});

test("more pixels come back after 400 quick pictures, twice, and then no more", () => {
  const sharpness = new Sharpness(2, false);
  for (let round = 0; round < 2; round++) {
    assert.equal(until(sharpness, 100), 25);
    // The mean starts at 16 and falls as 8 + 8 (11/12)^k: below 14 from k = 4 on, so that the 401st of them is k = 404.
    assert.equal(until(sharpness, 8), 404);
    assert.equal(sharpness.ratio, 2);
  }
  assert.equal(until(sharpness, 100), 25);
  assert.equal(until(sharpness, 8), null);
  assert.equal(sharpness.ratio, 1);
});

// --- what people read -----------------------------------------------------------------------------------------------

function header(number: number, scene = 1, views = 1): FrameData {
  const none = { type: "frame", time: 0, speed: 1, slow: "", colour_by: "plain", orders: {}, ghost: null, arrays: {} } as const;
  return { ...none, frame: number, scene, views: Array.from({ length: views }, () => ({}) as FrameData["views"][0]) };
}

test("numbers follow the frames every 250 ms, with the newest; another scene or view at once", () => {
  frame.value = null;
  startThrottle();
  const shown = () => slowFrame.value?.frame ?? null;
  frame.value = header(1);
  assert.equal(shown(), 1); // the first at once
  for (let number = 2; number <= 26; number++) {
    clock.pass(10);
    frame.value = header(number);
  }
  assert.equal(shown(), 1); // the pause began with frame 2, 240 ms ago
  pace.value = { fps: 60, latency: 12 };
  clock.pass(9);
  assert.equal(shown(), 1);
  assert.equal(slowPace.value.fps, 0);
  clock.pass(1);
  assert.equal(shown(), 26);
  assert.deepEqual(slowPace.value, { fps: 60, latency: 12 });
  frame.value = header(27, 2);
  assert.equal(shown(), 27);
  frame.value = header(28, 2, 2);
  assert.equal(shown(), 28);
});
