// The shadow on the ground: triangles flattened along the key light into a small picture, which is then blurred. So few
// pixels are quicker to fill here than to ask the graphics for, above all where there is no graphics card.

import { Color, DataTexture, LinearFilter, Mesh, PlaneGeometry, RedFormat, ShaderMaterial, Vector3, type Box3 } from "three";

import type { Look } from "./look";

const SIZE = 64;
const ROOM = 1.35; // around what casts it, for the blur
const STEP = 1.15; // the reach changes in such steps only: a reach that changed with every frame would shimmer
const BLUR = 2; // pixels to each side, three times over
const LEAST = 0.25; // strength of the shadow of what is high up, which is lit from around
const FINEST = 96; // a triangle is sampled at so many places along a side, at most
const FEW = 0.15; // share of triangles that may be larger than pixels in a mesh that is fine
const PROBES = 256; // triangles that are looked at to tell whether a mesh is fine

const VERTEX = /* glsl */ `
varying vec2 place;
void main() {
  place = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FRAGMENT = /* glsl */ `
varying vec2 place;
uniform sampler2D shade;
uniform vec3 colour;
uniform float strength;
void main() { gl_FragColor = vec4(colour, strength * texture2D(shade, place).r); }`;

export interface Caster {
  positions: Float32Array;
  /** Null for wires. */
  triangles: Uint32Array | null;
  /** Whether small triangles stand beside large ones, as at the rounded edges of a card: then all are filled. */
  uneven?: boolean;
}

/** A frame of the ground: where it is, and three axes of length one. */
export interface GroundFrame {
  origin: Vector3;
  right: Vector3;
  ahead: Vector3;
  up: Vector3;
  key: Vector3;
}

export class Shade {
  readonly mesh: Mesh;
  readonly #picture = new Uint8Array(SIZE * SIZE);
  readonly #sums = new Float32Array(SIZE * SIZE);
  readonly #spare = new Float32Array(SIZE * SIZE);
  readonly #standing = new Float32Array(SIZE * SIZE);
  #standingFor = { caster: null as Caster | null, x: NaN, y: NaN, reach: NaN };
  readonly #texture: DataTexture;
  readonly #material: ShaderMaterial;

  constructor() {
    this.#texture = new DataTexture(this.#picture, SIZE, SIZE, RedFormat);
    this.#texture.magFilter = this.#texture.minFilter = LinearFilter;
    this.#material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      polygonOffset: true, // under what lies on the ground
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 4,
      uniforms: { shade: { value: this.#texture }, colour: { value: new Color() }, strength: { value: 0.5 } },
    });
    this.mesh = new Mesh(new PlaneGeometry(2, 2), this.#material);
    this.mesh.frustumCulled = false;
  }

  dress(look: Look): void {
    this.#material.uniforms.colour.value.copy(look.shade).convertLinearToSRGB();
    this.#material.uniforms.strength.value = look.shadow;
  }

  /** The shadow of what moves and of what stands, which are in `box`. */
  cast(moving: Caster, standing: Caster | null, box: Box3, ground: GroundFrame): void {
    const { x, y, reach } = aim(box, ground);
    const before = this.#standingFor;
    if (before.caster !== standing || before.x !== x || before.y !== y || before.reach !== reach) {
      this.#standing.fill(0);
      if (standing) flatten(standing, rowsOf(ground, x, y, reach), this.#standing);
      this.#standingFor = { caster: standing, x, y, reach };
    }
    this.#sums.set(this.#standing);
    flatten(moving, rowsOf(ground, x, y, reach), this.#sums);
    for (let pass = 0; pass < 3; pass++) {
      blurRows(this.#sums, this.#spare);
      blurRows(this.#spare, this.#sums); // rows become columns, so the second pass takes the other way
    }
    for (let k = 0; k < this.#sums.length; k++) this.#picture[k] = 255 * this.#sums[k];
    this.#texture.needsUpdate = true;
    this.mesh.position.copy(ground.origin).addScaledVector(ground.right, x).addScaledVector(ground.ahead, y);
    this.mesh.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), ground.up);
    this.mesh.scale.set(reach, reach, 1);
  }
}

/** Where on the ground the shadow of a box falls: the middle of a square, and half its side. */
function aim(box: Box3, { origin, right, ahead, up, key }: GroundFrame): { x: number; y: number; reach: number } {
  let left = Infinity, rightmost = -Infinity, near = Infinity, far = -Infinity;
  const corner = new Vector3();
  for (let k = 0; k < 8; k++) {
    corner.set((k & 1 ? box.max : box.min).x, (k & 2 ? box.max : box.min).y, (k & 4 ? box.max : box.min).z).sub(origin);
    corner.addScaledVector(key, -corner.dot(up) / key.dot(up));
    left = Math.min(left, corner.dot(right));
    rightmost = Math.max(rightmost, corner.dot(right));
    near = Math.min(near, corner.dot(ahead));
    far = Math.max(far, corner.dot(ahead));
  }
  const needed = Math.max((ROOM * Math.max(rightmost - left, far - near)) / 2, 1e-6);
  const reach = STEP ** Math.ceil(Math.log(needed) / Math.log(STEP));
  const pixel = (2 * reach) / SIZE;
  return {
    x: Math.round((left + rightmost) / 2 / pixel) * pixel,
    y: Math.round((near + far) / 2 / pixel) * pixel,
    reach,
  };
}

/** Column, row and strength of a point are linear in it: four numbers for each. */
function rowsOf({ origin, right, ahead, up, key }: GroundFrame, x: number, y: number, reach: number): Float64Array {
  const scale = SIZE / (2 * reach);
  const form = (axis: Vector3, zero: number): number[] => {
    const along = axis.clone().addScaledVector(up, -key.dot(axis) / key.dot(up)).multiplyScalar(scale);
    return [along.x, along.y, along.z, SIZE / 2 - scale * zero - along.dot(origin)];
  };
  const fade = up.clone().multiplyScalar(-0.45 / reach);
  return Float64Array.of(...form(right, x), ...form(ahead, y), fade.x, fade.y, fade.z, 1 - fade.dot(origin));
}

function flatten(caster: Caster, rows: Float64Array, into: Float32Array): void {
  const { positions, triangles, uneven } = caster;
  if (triangles && (uneven || !fine(positions, triangles, rows))) fillTriangles(positions, triangles, rows, into);
  else markVertices(positions, rows, into);
}

/** Whether nearly all triangles are smaller than pixels, so that their corners are enough: blurring closes the gaps. */
function fine(positions: Float32Array, triangles: Uint32Array, [ux, uy, uz, , vx, vy, vz]: Float64Array): boolean {
  const step = 3 * Math.max(1, Math.floor(triangles.length / 3 / PROBES));
  let large = 0, seen = 0;
  for (let k = 0; k < triangles.length; k += step, seen++) {
    const p = 3 * triangles[k], q = 3 * triangles[k + 1];
    const x = positions[q] - positions[p], y = positions[q + 1] - positions[p + 1], z = positions[q + 2] - positions[p + 2];
    if (Math.abs(ux * x + uy * y + uz * z) > 1 || Math.abs(vx * x + vy * y + vz * z) > 1) large++;
  }
  return large < FEW * seen;
}

function markVertices(positions: Float32Array, rows: Float64Array, into: Float32Array): void {
  const [ux, uy, uz, u0, vx, vy, vz, v0, sx, sy, sz, s0] = rows;
  for (let k = 0; k < positions.length; k += 3) {
    const x = positions[k], y = positions[k + 1], z = positions[k + 2];
    const column = (u0 + ux * x + uy * y + uz * z) | 0, row = (v0 + vx * x + vy * y + vz * z) | 0;
    if (column < 0 || row < 0 || column >= SIZE || row >= SIZE) continue;
    const strength = Math.max(s0 + sx * x + sy * y + sz * z, LEAST);
    if (into[row * SIZE + column] < strength) into[row * SIZE + column] = Math.min(strength, 1);
  }
}

/** Mark the pixels under triangles, at places so close that none in between is left out. */
function fillTriangles(positions: Float32Array, triangles: Uint32Array, rows: Float64Array, into: Float32Array): void {
  const corner = new Float64Array(9);
  for (let k = 0; k < triangles.length; k += 3) {
    for (let c = 0; c < 3; c++) {
      const p = 3 * triangles[k + c];
      const x = positions[p], y = positions[p + 1], z = positions[p + 2];
      for (let form = 0; form < 3; form++) {
        corner[3 * c + form] = rows[4 * form] * x + rows[4 * form + 1] * y + rows[4 * form + 2] * z + rows[4 * form + 3];
      }
    }
    const [u, v, s, uq, vq, sq, ur, vr, sr] = corner;
    const strength = Math.min(Math.max((s + sq + sr) / 3, LEAST), 1);
    const wide = Math.max(u, uq, ur) - Math.min(u, uq, ur), tall = Math.max(v, vq, vr) - Math.min(v, vq, vr);
    const parts = Math.min(Math.ceil(1.5 * Math.max(wide, tall)), FINEST) || 1;
    for (let i = 0; i < parts; i++) {
      for (let j = 0; i + j < parts; j++) {
        const f = (i + 1 / 3) / parts, g = (j + 1 / 3) / parts;
        const column = (u + f * (uq - u) + g * (ur - u)) | 0, row = (v + f * (vq - v) + g * (vr - v)) | 0;
        if (column < 0 || row < 0 || column >= SIZE || row >= SIZE) continue;
        const at = row * SIZE + column;
        if (into[at] < strength) into[at] = strength;
      }
    }
  }
}

/** A running mean along the rows, written as columns. */
function blurRows(from: Float32Array, to: Float32Array): void {
  const share = 1 / (2 * BLUR + 1);
  for (let row = 0; row < SIZE; row++) {
    const first = row * SIZE;
    let sum = 0;
    for (let k = 0; k < BLUR; k++) sum += from[first + k];
    for (let k = 0; k < SIZE; k++) {
      if (k + BLUR < SIZE) sum += from[first + k + BLUR];
      if (k > BLUR) sum -= from[first + k - BLUR - 1];
      to[k * SIZE + row] = sum * share;
    }
  }
}
