// Shadows without a graphics card: how high the highest and the lowest thing is that the light meets on its way to each place on
// the ground. From these few numbers come the shadow on the ground and the light at every vertex.

import { Vector3, type Box3 } from "three";

export const SIZE = 128; // places along a side
const ROOM = 1.35; // around what casts it, for the blur
const STEP = 1.15; // the reach changes in such steps only: a reach that changed with every frame would shimmer
const FINEST = 96; // a triangle is sampled at so many places along a side, at most
const FEW = 0.15; // share of triangles that may be larger than places in a mesh that is fine
const PROBES = 256; // triangles that are looked at to tell whether a mesh is fine
const BLURS = { fine: 1, wide: 4 }; // places to each side
const BIAS = 1.6; // places that a surface may rise above itself: what counts in a place is its highest point
const SOFT = 3; // places over which a shadow sets in
const NEIGHBOURHOOD = 11; // likewise, light of the sky
const NOTHING = 1e9;

export interface Caster {
  positions: Float32Array;
  /** Null for wires. */
  triangles: Uint32Array | null;
  /** Whether small triangles stand beside large ones, as at the rounded edges of a card: then all are filled. */
  uneven?: boolean;
  /** Another one whenever something of it has moved, of what stands. */
  version?: number;
}

/** A frame of the ground: where it is, and three axes of length one. */
export interface GroundFrame {
  origin: Vector3;
  right: Vector3;
  ahead: Vector3;
  up: Vector3;
  key: Vector3;
}

export interface Aim {
  x: number;
  y: number;
  reach: number;
}

export class Heights {
  /** Of the highest thing (m above the ground; 0 for nothing), and of the lowest. */
  readonly highest = new Float32Array(SIZE * SIZE);
  readonly lowest = new Float32Array(SIZE * SIZE);
  readonly #fine = new Float32Array(SIZE * SIZE);
  readonly #wide = new Float32Array(SIZE * SIZE);
  readonly #spare = new Float32Array(SIZE * SIZE);
  readonly #standing = { highest: new Float32Array(SIZE * SIZE), lowest: new Float32Array(SIZE * SIZE) };
  #standingFor: { caster: Caster | null; version?: number } & Aim = { caster: null, x: NaN, y: NaN, reach: NaN };
  #rows: Float64Array = new Float64Array(12);
  #place = 1;

  /** What moves, if anything, and what stands, which are in `box`; where on the ground that is. */
  cast(moving: Caster | null, standing: Caster | null, box: Box3, ground: GroundFrame, aim = aimed(box, ground)): Aim {
    this.#rows = rowsOf(ground, aim);
    this.#place = (2 * aim.reach) / SIZE;
    if (!this.knows(standing, aim)) {
      this.#standing.highest.fill(0);
      this.#standing.lowest.fill(NOTHING);
      if (standing) mark(standing, this.#rows, this.#standing);
      this.#standingFor = { caster: standing, version: standing?.version, ...aim };
    }
    this.highest.set(this.#standing.highest);
    this.lowest.set(this.#standing.lowest);
    if (!moving) return aim;
    mark(moving, this.#rows, this);
    this.#fine.set(this.highest);
    blur(this.#fine, this.#spare, BLURS.fine, 1);
    this.#wide.set(this.highest);
    blur(this.#wide, this.#spare, BLURS.wide, 2);
    return aim;
  }

  /** Whether what stands was marked so already. */
  knows(standing: Caster | null, { x, y, reach }: Aim): boolean {
    const { caster, version, ...before } = this.#standingFor;
    return caster === standing && version === standing?.version && before.x === x && before.y === y && before.reach === reach;
  }

  /** Two bytes a vertex, of the key light and of the sky; `mixed`: share of what was there before. */
  light(positions: Float32Array, into: Uint8Array, mixed: number): void {
    const [ux, uy, uz, u0, vx, vy, vz, v0, hx, hy, hz, h0] = this.#rows;
    const fine = this.#fine, wide = this.#wide, place = this.#place;
    const bias = BIAS * place, soft = 255 / (SOFT * place), around = 255 / (NEIGHBOURHOOD * place);
    const fresh = 1 - mixed;
    for (let k = 0, to = 0; k < positions.length; k += 3, to += 2) {
      const x = positions[k], y = positions[k + 1], z = positions[k + 2];
      const u = u0 + ux * x + uy * y + uz * z - 0.5, v = v0 + vx * x + vy * y + vz * z - 0.5;
      let visible = 255, open = 255;
      if (u >= 0 && v >= 0 && u < SIZE - 1 && v < SIZE - 1) {
        const column = u | 0, row = v | 0, f = u - column, g = v - row, at = row * SIZE + column;
        const a = (1 - f) * (1 - g), b = f * (1 - g), c = (1 - f) * g, d = f * g;
        const h = h0 + hx * x + hy * y + hz * z;
        const above = a * fine[at] + b * fine[at + 1] + c * fine[at + SIZE] + d * fine[at + SIZE + 1] - h - bias;
        const about = a * wide[at] + b * wide[at + 1] + c * wide[at + SIZE] + d * wide[at + SIZE + 1] - h;
        visible = Math.max(0, Math.min(255, 255 - soft * above));
        open = Math.max(40, Math.min(255, 255 - around * about));
      }
      // Of whole numbers, so that what stands still comes to rest at the same light, wherever it came from.
      into[to] = mixed * into[to] + fresh * Math.round(visible) + 0.5;
      into[to + 1] = mixed * into[to + 1] + fresh * Math.round(open) + 0.5;
    }
  }
}

/** Where on the ground the shadow of a box falls: the middle of a square, and half its side. */
export function aimed(box: Box3, { origin, right, ahead, up, key }: GroundFrame): Aim {
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
  const place = (2 * reach) / SIZE;
  return {
    x: Math.round((left + rightmost) / 2 / place) * place,
    y: Math.round((near + far) / 2 / place) * place,
    reach,
  };
}

/** Column, row and height of a point are linear in it: four numbers for each. */
export function rowsOf({ origin, right, ahead, up, key }: GroundFrame, { x, y, reach }: Aim): Float64Array {
  const scale = SIZE / (2 * reach);
  const form = (axis: Vector3, zero: number): number[] => {
    const along = axis.clone().addScaledVector(up, -key.dot(axis) / key.dot(up)).multiplyScalar(scale);
    return [along.x, along.y, along.z, SIZE / 2 - scale * zero - along.dot(origin)];
  };
  return Float64Array.of(...form(right, x), ...form(ahead, y), up.x, up.y, up.z, -up.dot(origin));
}

interface Marked {
  highest: Float32Array;
  lowest: Float32Array;
}

function mark(caster: Caster, rows: Float64Array, into: Marked): void {
  const { positions, triangles, uneven } = caster;
  if (triangles && (uneven || !fine(positions, triangles, rows))) markTriangles(positions, triangles, rows, into);
  else markVertices(positions, rows, into);
}

/** Whether nearly all triangles are smaller than places, so that their corners are enough: blurring closes the gaps. */
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

function markVertices(positions: Float32Array, rows: Float64Array, { highest, lowest }: Marked): void {
  const [ux, uy, uz, u0, vx, vy, vz, v0, hx, hy, hz, h0] = rows;
  for (let k = 0; k < positions.length; k += 3) {
    const x = positions[k], y = positions[k + 1], z = positions[k + 2];
    const column = (u0 + ux * x + uy * y + uz * z) | 0, row = (v0 + vx * x + vy * y + vz * z) | 0;
    if (column < 0 || row < 0 || column >= SIZE || row >= SIZE) continue;
    const at = row * SIZE + column, h = h0 + hx * x + hy * y + hz * z;
    if (highest[at] < h) highest[at] = h;
    if (lowest[at] > h) lowest[at] = h;
  }
}

/** Mark the places under triangles, so closely that none in between is left out. */
function markTriangles(positions: Float32Array, triangles: Uint32Array, rows: Float64Array, { highest, lowest }: Marked): void {
  const corner = new Float64Array(9);
  for (let k = 0; k < triangles.length; k += 3) {
    for (let c = 0; c < 3; c++) {
      const p = 3 * triangles[k + c];
      const x = positions[p], y = positions[p + 1], z = positions[p + 2];
      for (let form = 0; form < 3; form++) {
        corner[3 * c + form] = rows[4 * form] * x + rows[4 * form + 1] * y + rows[4 * form + 2] * z + rows[4 * form + 3];
      }
    }
    const [u, v, h, uq, vq, hq, ur, vr, hr] = corner;
    const wide = Math.max(u, uq, ur) - Math.min(u, uq, ur), tall = Math.max(v, vq, vr) - Math.min(v, vq, vr);
    const parts = Math.min(Math.ceil(1.5 * Math.max(wide, tall)), FINEST) || 1;
    for (let i = 0; i < parts; i++) {
      for (let j = 0; i + j < parts; j++) {
        const f = (i + 1 / 3) / parts, g = (j + 1 / 3) / parts;
        const column = (u + f * (uq - u) + g * (ur - u)) | 0, row = (v + f * (vq - v) + g * (vr - v)) | 0;
        if (column < 0 || row < 0 || column >= SIZE || row >= SIZE) continue;
        const at = row * SIZE + column, high = h + f * (hq - h) + g * (hr - h);
        if (highest[at] < high) highest[at] = high;
        if (lowest[at] > high) lowest[at] = high;
      }
    }
  }
}

/** A running mean to `reach` places on either side, both ways, so many times over. */
export function blur(values: Float32Array, spare: Float32Array, reach: number, times: number): void {
  for (let pass = 0; pass < times; pass++) {
    blurRows(values, spare, reach);
    blurRows(spare, values, reach); // rows become columns, so the second pass takes the other way
  }
}

function blurRows(from: Float32Array, to: Float32Array, reach: number): void {
  const share = 1 / (2 * reach + 1);
  for (let row = 0; row < SIZE; row++) {
    const first = row * SIZE;
    let sum = 0;
    for (let k = 0; k < reach; k++) sum += from[first + k];
    for (let k = 0; k < SIZE; k++) {
      if (k + reach < SIZE) sum += from[first + k + reach];
      if (k > reach) sum -= from[first + k - reach - 1];
      to[k * SIZE + row] = sum * share;
    }
  }
}
