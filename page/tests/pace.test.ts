// How the page keeps up, against a clock that tests move.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import type { FrameData } from "../src/messages";
import { slowFrame, slowPace, startThrottle } from "../src/panel/throttle";
import { PaceMeter } from "../src/stage/pace";
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

// --- what people read -----------------------------------------------------------------------------------------------

function header(number: number, scene = 1, views = 1): FrameData {
  const none = { type: "frame", time: 0, speed: 1, slow: "", colour_by: "plain", orders: {}, ghost: null, arrays: {} } as const;
  return { ...none, things: [], frame: number, scene, views: Array.from({ length: views }, () => ({}) as FrameData["views"][0]) };
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
