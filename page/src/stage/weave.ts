// Threads as a picture that repeats: which of two colours a thread has, how much light is lost between threads, and which
// way their surface leans. Far away it is a flat tone, by the picture's own smaller copies.

import { DataTexture, LinearFilter, LinearMipmapLinearFilter, RepeatWrapping } from "three";

/** `check`: two colours in squares; `plain`: one over, one under; `twill`: the diagonal of denim; `grain`: no threads. */
export type Pattern = "check" | "plain" | "twill" | "grain";

export const SIZE = 512; // pixels along a side of the picture
export const THREADS = 64; // along a side
const WIDTH = SIZE / THREADS;
const COARSE = 32; // pixels where no threads are to be seen

/** Whether the thread along v lies over the one along u where they cross. */
function over(pattern: Pattern, i: number, j: number): boolean {
  return pattern === "twill" ? (i + j) % 4 !== 0 : (i + j) % 2 === 0;
}

/** RGBA of a pattern: share of the first colour, lightness (128: as it is), and two slopes (128: level). */
export function weaveBytes(pattern: Pattern): Uint8Array<ArrayBuffer> {
  const rgba = new Uint8Array(4 * SIZE * SIZE);
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) rgba.set(pattern === "grain" ? grain(x, y) : thread(pattern, x, y), 4 * (y * SIZE + x));
  }
  return rgba;
}

function thread(pattern: Pattern, x: number, y: number): number[] {
  [x, y] = [(x + WIDTH / 2) % SIZE, (y + WIDTH / 2) % SIZE]; // so that the corner is the middle of a thread
  const i = Math.floor(x / WIDTH), j = Math.floor(y / WIDTH);
  const along = over(pattern, i, j);
  // Across the thread that is on top, from -1 to 1, and along it to where it dives under the next.
  const across = (2 * ((along ? x : y) % WIDTH) + 1) / WIDTH - 1;
  const length = (2 * ((along ? y : x) % WIDTH) + 1) / WIDTH - 1;
  const round = Math.sqrt(Math.max(0, 1 - 0.8 * across * across));
  const dive = pattern === "twill" ? 1 : 1 - 0.35 * length * length;
  const strand = noise(along ? i : j + 57, along ? Math.floor(y / 3) : Math.floor(x / 3)) - 0.5;
  const light = 128 * (0.62 + 0.44 * round * dive + 0.12 * strand);
  const lean = 90 * across, fall = 50 * length;
  const [u, v] = along ? [lean, fall] : [fall, lean];
  return [255 * dyed(pattern, i, j, along), clip(light), clip(128 + u), clip(128 + v)];
}

/** The share of the first colour in the thread that is on top. */
function dyed(pattern: Pattern, i: number, j: number, along: boolean): number {
  if (pattern === "check") return (along ? i : j) < THREADS / 2 ? 1 : 0;
  if (pattern === "twill") return along ? 1 : 0;
  return 1;
}

function grain(x: number, y: number): number[] {
  const at = (dx: number, dy: number) =>
    [8, 4, 2].reduce((sum, cell, k) => sum + smooth((x + dx) / cell, (y + dy) / cell, SIZE / cell) / 2 ** k, 0) / 1.75;
  const height = at(0, 0);
  return [255, clip(128 * (0.85 + 0.3 * height)), clip(128 + 300 * (height - at(1, 0))), clip(128 + 300 * (height - at(0, 1)))];
}

/** Noise between the corners of cells, which repeats after `period` of them. */
function smooth(x: number, y: number, period: number): number {
  const i = Math.floor(x), j = Math.floor(y), f = x - i, g = y - j;
  const at = (a: number, b: number) => noise((a + period) % period, (b + period) % period);
  const low = at(i, j) + f * (at(i + 1, j) - at(i, j)), high = at(i, j + 1) + f * (at(i + 1, j + 1) - at(i, j + 1));
  return low + g * (high - low);
}

/** The same number from 0 to 1 for the same two. */
function noise(a: number, b: number): number {
  let k = Math.imul(a | 0, 374761393) + Math.imul(b | 0, 668265263);
  k = Math.imul(k ^ (k >>> 13), 1274126177);
  return ((k ^ (k >>> 16)) >>> 0) / 2 ** 32;
}

function clip(value: number): number {
  return Math.max(0, Math.min(255, Math.round(value)));
}

/** The same in fewer pixels, each the mean of a square of them. */
export function shrunk(rgba: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const side = SIZE / size;
  const means = new Uint8Array(4 * size * size);
  for (let k = 0; k < means.length; k++) {
    const channel = k % 4, x = (k >> 2) % size, y = Math.floor((k >> 2) / size);
    let sum = 0;
    for (let j = 0; j < side; j++) {
      for (let i = 0; i < side; i++) sum += rgba[4 * ((y * side + j) * SIZE + x * side + i) + channel];
    }
    means[k] = Math.round(sum / side ** 2);
  }
  return means;
}

const made = new Map<string, DataTexture>();

/** The picture of a pattern, made once; `fine`: with every thread, and smaller copies for where it is far away. */
export function weaveTexture(pattern: Pattern, fine: boolean): DataTexture {
  const name = `${pattern} ${fine}`;
  const known = made.get(name);
  if (known) return known;
  const bytes = weaveBytes(pattern);
  const texture = fine ? new DataTexture(bytes, SIZE, SIZE) : new DataTexture(shrunk(bytes, COARSE), COARSE, COARSE);
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.magFilter = LinearFilter;
  texture.minFilter = fine ? LinearMipmapLinearFilter : LinearFilter;
  texture.generateMipmaps = fine;
  texture.anisotropy = fine ? 8 : 1;
  texture.needsUpdate = true;
  made.set(name, texture);
  return texture;
}
