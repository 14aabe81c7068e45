// Rays against triangles whose meeting points are known, and against the vertices of a wire.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { PerspectiveCamera, Ray, Vector3 } from "three";

import type { Viewport } from "../src/stage/layout";
import { Picker, placeOf, rayThrough, type Hit } from "../src/stage/picking";
import { FakeClock } from "./clock";

const FOV = 40;
const VIEWPORT: Viewport = { x: 100, y: 50, width: 800, height: 400 };

const clock = new FakeClock();
beforeEach(() => clock.install());
afterEach(() => clock.remove());

/** At (0, 0, 5), looking at the origin. */
function camera(): PerspectiveCamera {
  const eye = new PerspectiveCamera(FOV, VIEWPORT.width / VIEWPORT.height, 0.01, 100);
  eye.position.set(0, 0, 5);
  eye.lookAt(0, 0, 0);
  eye.updateMatrixWorld();
  return eye;
}

function near(actual: Vector3, wanted: readonly number[], within = 1e-6): void {
  const away = actual.distanceTo(new Vector3(...wanted));
  assert(away <= within, `${actual.toArray()} is ${away} from ${wanted}`);
}

function down(x: number, y: number): Ray {
  return new Ray(new Vector3(x, y, 5), new Vector3(0, 0, -1));
}

function pick(picker: Picker, ray: Ray, { view = 0, hovering = false } = {}): Hit | null {
  return picker.pick(ray, view, camera(), VIEWPORT, hovering);
}

/** Vertices (0, 0), (4, 0), (0, 4) at height z = 1 + x/2 + y/4. */
const SLOPE = new Float32Array([0, 0, 1, 4, 0, 3, 0, 4, 2]);
const ONE = new Uint32Array([0, 1, 2]);

test("the ray through the middle of a viewport goes where the camera looks", () => {
  const ray = rayThrough(VIEWPORT.x + VIEWPORT.width / 2, VIEWPORT.y + VIEWPORT.height / 2, VIEWPORT, camera());
  near(ray.origin, [0, 0, 5]);
  near(ray.direction, [0, 0, -1]);
});

test("the ray through a corner leans by the angle of view: tan(fov/2) upwards, times the aspect sideways", () => {
  const tall = Math.tan((FOV * Math.PI) / 360);
  const wide = (tall * VIEWPORT.width) / VIEWPORT.height;
  const length = Math.hypot(wide, tall, 1);
  const { x, y, width, height } = VIEWPORT;
  near(rayThrough(x, y, VIEWPORT, camera()).direction, [-wide / length, tall / length, -1 / length]);
  near(rayThrough(x + width, y + height, VIEWPORT, camera()).direction, [wide / length, -tall / length, -1 / length]);
});

test("a ray meets a sloping triangle where its plane says, and takes the nearest vertex", () => {
  const picker = new Picker(ONE, [SLOPE]);
  for (const [x, y, vertex] of [[0.5, 0.25, 0], [3, 0.5, 1], [0.25, 3.5, 2]]) {
    const hit = pick(picker, down(x, y));
    assert(hit);
    near(hit.point, [x, y, 1 + x / 2 + y / 4]);
    assert.equal(hit.vertex, vertex);
  }
});

test("just inside the long side is a hit, just outside is none", () => {
  const picker = new Picker(ONE, [SLOPE]);
  assert(pick(picker, down(2 - 1e-4, 2 - 1e-4)));
  assert.equal(pick(picker, down(2 + 1e-4, 2 + 1e-4)), null);
  assert.equal(pick(picker, down(-1e-4, 1)), null);
});

test("a triangle is met from behind too", () => {
  const hit = pick(new Picker(ONE, [SLOPE]), new Ray(new Vector3(1, 1, -5), new Vector3(0, 0, 1)));
  assert(hit);
  near(hit.point, [1, 1, 1.75]);
});

test("what lies behind the ray's origin is not met", () => {
  assert.equal(pick(new Picker(ONE, [SLOPE]), new Ray(new Vector3(1, 1, 5), new Vector3(0, 0, 1))), null);
});

test("of many triangles on the way the first is taken", () => {
  // 40 layers, the uppermost in the middle of the list, so that neither first nor last in it is the answer.
  const heights = Array.from({ length: 40 }, (_, k) => (k === 17 ? 3 : -k));
  const positions = new Float32Array(heights.flatMap((z) => [0, 0, z, 4, 0, z, 0, 4, z]));
  const triangles = new Uint32Array(heights.flatMap((_, k) => [3 * k, 3 * k + 1, 3 * k + 2]));
  const hit = pick(new Picker(triangles, [positions]), down(0.5, 1));
  assert(hit);
  near(hit.point, [0.5, 1, 3]);
  assert.equal(hit.vertex, 3 * 17);
});

test("vertices keep their numbers: a triangle of others than the first three", () => {
  const positions = new Float32Array([9, 9, 9, ...SLOPE, 8, 8, 8]);
  assert.equal(pick(new Picker(new Uint32Array([3, 1, 2]), [positions]), down(3, 0.5))?.vertex, 2);
});

test("each view is picked in its own positions", () => {
  const higher = SLOPE.map((value, k) => (k % 3 === 2 ? value + 1 : value));
  const picker = new Picker(ONE, [SLOPE, higher]);
  near(pick(picker, down(1, 1), { view: 1 })!.point, [1, 1, 2.75]);
  near(pick(picker, down(1, 1), { view: 0 })!.point, [1, 1, 1.75]);
  near(pick(picker, down(1, 1), { view: 1, hovering: true })!.point, [1, 1, 2.75]);
});

test("what has moved is picked where it is now; hovering may be 200 ms behind", () => {
  const positions = SLOPE.slice();
  const picker = new Picker(ONE, [positions]);
  picker.prepare();
  for (let k = 0; k < 9; k += 3) positions[k] += 100; // out of the tree's boxes
  clock.pass(199);
  assert.equal(pick(picker, down(101, 1), { hovering: true }), null);
  clock.pass(1);
  assert(pick(picker, down(101, 1), { hovering: true }));
  for (let k = 0; k < 9; k += 3) positions[k] += 100;
  assert(pick(picker, down(201, 1))); // not hovering: at once
  assert.equal(pick(picker, down(101, 1)), null);
});

// --- wires: a vertex within 14 CSS pixels ---------------------------------------------------------------------------

/** The CSS pixels that a length at some depth takes in the viewport. */
function pixels(length: number, depth: number): number {
  return (length / depth) * (VIEWPORT.height / (2 * Math.tan((FOV * Math.PI) / 360)));
}

/** The length that takes so many pixels at some depth. */
function lengthOf(count: number, depth: number): number {
  return (count * depth) / pixels(1, 1);
}

const MIDDLE = new Ray(new Vector3(0, 0, 5), new Vector3(0, 0, -1));

test("a vertex of a wire is meant up to 14 pixels away, at any depth", () => {
  for (const depth of [1, 5, 20]) {
    for (const [away, met] of [[13.9, true], [14.1, false]] as const) {
      const wire = new Picker(null, [new Float32Array([lengthOf(away, depth), 0, 5 - depth])]);
      assert.equal(pick(wire, MIDDLE)?.vertex, met ? 0 : undefined, `${away} pixels at depth ${depth}`);
    }
  }
});

test("of several the nearest in pixels is taken, not the nearest in metres", () => {
  const close = [lengthOf(9, 1), 0, 4];
  const far = [lengthOf(4, 10), 0, -5];
  assert(far[0] > close[0]);
  const hit = pick(new Picker(null, [new Float32Array([...close, ...far])]), MIDDLE);
  assert(hit);
  assert.equal(hit.vertex, 1);
  near(hit.point, far, 1e-5);
});

test("a vertex behind the camera is not meant", () => {
  assert.equal(pick(new Picker(null, [new Float32Array([0, 0, 6])]), MIDDLE), null);
});

test("a soft body is held at the vertex, whole", () => {
  const hit = pick(new Picker(ONE, [SLOPE]), down(1, 0.5));
  assert.deepEqual(hit?.grip, { corners: [0, 0, 0], weights: [1, 0, 0] });
});

test("a rigid body is held at the point itself, which stays the same point when the body moves", () => {
  const hit = pick(new Picker(ONE, [SLOPE], { soft: 0 }), down(1, 0.5));
  assert(hit);
  near(placeOf(hit.grip, SLOPE), [1, 0.5, 1 + 1 / 2 + 0.5 / 4]);
  // Turned by a right angle about z, (x, y) to (-y, x), and lifted by ten.
  const moved = SLOPE.map((_, k) => (k % 3 === 0 ? -SLOPE[k + 1] : k % 3 === 1 ? SLOPE[k - 1] : SLOPE[k] + 10));
  near(placeOf(hit.grip, moved), [-0.5, 1, 11 + 1 / 2 + 0.5 / 4]);
});

test("what nobody can move is left to the camera", () => {
  const immovable = new Uint32Array([0, 1, 2]);
  assert.equal(pick(new Picker(ONE, [SLOPE], { soft: 0, immovable }), down(1, 0.5)), null);
});

/** A soft triangle like SLOPE, and a rigid one ten to the right. */
const BOTH = new Float32Array([...SLOPE, ...SLOPE.map((value, k) => (k % 3 === 0 ? value + 10 : value))]);
const TWO = new Uint32Array([0, 1, 2, 3, 4, 5]);

test("among soft bodies a rigid one is held at the point, and the soft ones at a vertex", () => {
  const picker = new Picker(TWO, [BOTH], { soft: 3 });
  assert.deepEqual(pick(picker, down(1, 0.5))?.grip, { corners: [0, 0, 0], weights: [1, 0, 0] });
  const hit = pick(picker, down(11, 0.5));
  assert(hit);
  near(placeOf(hit.grip, BOTH), [11, 0.5, 1 + 1 / 2 + 0.5 / 4], 1e-5);
});

test("beside rigid bodies, the vertices of a wire are meant as they are without any", () => {
  const picker = new Picker(TWO.slice(3), [BOTH], { soft: 3, wires: true });
  assert.equal(pick(picker, down(0, 0))?.vertex, 0);
  assert.equal(pick(picker, down(1, 0.5)), null);
  assert.equal(pick(picker, down(11, 0.5))?.vertex, 3);
});
