// Threads, edges and shadows: the parts of the picture that are plain numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Box3, Vector3 } from "three";

import { CLOTH, fabricLook } from "../src/stage/fabrics";
import { aimed, Heights, SIZE as PLACES, type GroundFrame } from "../src/stage/heights";
import { sightOf } from "../src/stage/lightmap";
import { shrunk, SIZE, weaveBytes, type Pattern } from "../src/stage/weave";
import { edgesOf } from "../src/stage/wires";

// --- threads --------------------------------------------------------------------------------------------------------

function mean(rgba: Uint8Array, channel: number): number {
  let sum = 0;
  for (let k = channel; k < rgba.length; k += 4) sum += rgba[k];
  return sum / (rgba.length / 4);
}

test("threads lean to both sides alike and neither lighten nor darken a cloth that is far away", () => {
  for (const pattern of ["check", "plain", "twill", "grain"] as Pattern[]) {
    const rgba = weaveBytes(pattern);
    assert.equal(rgba.length, 4 * SIZE * SIZE);
    assert(Math.abs(mean(rgba, 1) - 128) < 12, `${pattern}: ${mean(rgba, 1)}`);
    for (const slope of [2, 3]) assert(Math.abs(mean(rgba, slope) - 128) < 2, `${pattern}: ${mean(rgba, slope)}`);
  }
});

test("a check is a quarter of one colour, a quarter of the other, and half of both", () => {
  const squares = shrunk(weaveBytes("check"), 32);
  const shares = Array.from({ length: 32 * 32 }, (_, k) => squares[4 * k] / 255);
  const count = (share: number) => shares.filter((one) => Math.abs(one - share) < 0.1).length / shares.length;
  assert(Math.abs(count(1) - 1 / 4) < 0.05 && Math.abs(count(0) - 1 / 4) < 0.05 && Math.abs(count(0.5) - 1 / 2) < 0.1);
});

test("a fabric without a look of its own looks like cloth", () => {
  assert.equal(fabricLook("tweed"), CLOTH);
  assert.equal(fabricLook("constructor"), CLOTH);
  assert.equal(fabricLook("denim").pattern, "twill");
});

// --- edges ----------------------------------------------------------------------------------------------------------

test("every edge of two triangles is there once", () => {
  const edges = edgesOf(Uint32Array.of(0, 1, 2, 2, 1, 3), 4);
  const pairs = Array.from({ length: edges.length / 2 }, (_, k) => [edges[2 * k], edges[2 * k + 1]].sort().join("-"));
  assert.deepEqual(pairs.sort(), ["0-1", "0-2", "1-2", "1-3", "2-3"]);
});

// --- shadows --------------------------------------------------------------------------------------------------------

const axis = (x: number, y: number, z: number) => new Vector3(x, y, z);
const GROUND: GroundFrame = {
  origin: axis(0, 0, 0), right: axis(1, 0, 0), ahead: axis(0, 0, -1), up: axis(0, 1, 0), key: axis(0, 1, 0),
};

/** A level square of side 2 around the axis at a height, in cells of a fiftieth. */
function sheet(height: number, half = 1): Float32Array {
  const places: number[] = [];
  for (let i = 0; i <= 100; i++) for (let j = 0; j <= 100; j++) places.push(half * (i / 50 - 1), height, half * (j / 50 - 1));
  return Float32Array.from(places);
}

function lit(heights: Heights, ...place: number[]): [number, number] {
  const bytes = new Uint8Array(2);
  heights.light(Float32Array.from(place), bytes, 0);
  return [bytes[0], bytes[1]];
}

test("what lies under a sheet is in the shade, what is beside or on it is not", () => {
  const heights = new Heights();
  const box = new Box3(axis(-1, 0, -1), axis(1, 1, 1));
  heights.cast({ positions: sheet(1), triangles: null }, null, box, GROUND);
  assert.deepEqual(lit(heights, 0, 0, 0)[0], 0);
  assert(lit(heights, 0, 0, 0)[1] < 60);
  assert.deepEqual(lit(heights, 0, 1, 0), [255, 255]);
  assert.deepEqual(lit(heights, 1.25, 0, 1.25)[0], 255);
  assert.deepEqual(lit(heights, 50, 0, 0), [255, 255]); // outside of the picture
});

test("a valley sees less of the sky than a ridge", () => {
  const folded = sheet(0.5);
  for (let k = 0; k < folded.length; k += 3) folded[k + 1] += 0.1 * Math.cos(8 * Math.PI * folded[k]);
  const heights = new Heights();
  heights.cast({ positions: folded, triangles: null }, null, new Box3(axis(-1, 0, -1), axis(1, 0.6, 1)), GROUND);
  assert(lit(heights, 0.125, 0.4, 0)[1] + 40 < lit(heights, 0, 0.6, 0)[1]);
});

test("light that was there before is mixed in", () => {
  const heights = new Heights();
  heights.cast({ positions: sheet(1), triangles: null }, null, new Box3(axis(-1, 0, -1), axis(1, 1, 1)), GROUND);
  const bytes = Uint8Array.of(200, 200);
  heights.light(Float32Array.of(0, 0, 0), bytes, 0.5);
  assert.equal(bytes[0], 100);
});

test("places of the picture stay where they are while a body moves by less than one", () => {
  const box = new Box3(axis(-1, 0, -1), axis(1, 1, 1));
  const still = aimed(box, GROUND);
  const place = (2 * still.reach) / PLACES;
  assert.deepEqual(aimed(box.clone().translate(axis(0.3 * place, 0, 0)), GROUND), still);
  const moved = aimed(box.clone().translate(axis(3 * place, 0, 0)), GROUND);
  assert(Math.abs(moved.x - still.x - 3 * place) < 1e-9);
  assert.equal(moved.reach, still.reach);
});

test("the light sees the whole box, in pixels that stay where they are", () => {
  const key = axis(-0.3, 1, 0.4).normalize();
  const ahead = new Vector3().crossVectors(key, axis(1, 0, 0)).normalize();
  const right = new Vector3().crossVectors(ahead, key);
  const box = new Box3(axis(-1, 0, -2), axis(3, 1, 1));
  const { middle, reach, nearest, farthest } = sightOf(box, right, ahead, key, 1024);
  for (let k = 0; k < 8; k++) {
    const corner = axis(k & 1 ? 3 : -1, k & 2 ? 1 : 0, k & 4 ? 1 : -2);
    for (const across of [right, ahead]) assert(Math.abs(corner.clone().sub(middle).dot(across)) <= reach);
    assert(corner.dot(key) <= nearest + 1e-9 && corner.dot(key) >= farthest - 1e-9);
  }
  const pixel = (2 * reach) / 1024;
  assert(Math.abs(middle.dot(right) / pixel - Math.round(middle.dot(right) / pixel)) < 1e-6);
});
