// What a pointer on the view does: pull, pin or cut; and the geometry of boxes and strokes, without a screen.

import { signal } from "@preact/signals";

export const TOOLS = ["hand", "pin", "cut"] as const;
export type Tool = (typeof TOOLS)[number];

export const tool = signal<Tool>("hand");

export const CLICK = 6; // CSS pixels: less is no drag
export const MOST_VERTICES = 500; // of a message
export const MOST_POINTS = 64; // of a stroke
export type Place = [number, number];

/** Several places of a stroke are enough: those that the line would miss most without them. */
export function thinned(stroke: readonly Place[], most = MOST_POINTS): Place[] {
  const kept = stroke.filter(([x, y], k) => k === 0 || Math.hypot(x - stroke[k - 1][0], y - stroke[k - 1][1]) > 0.5);
  if (kept.length <= most) return kept;
  return Array.from({ length: most }, (_, k) => kept[Math.round((k * (kept.length - 1)) / (most - 1))]);
}

export function length(stroke: readonly Place[]): number {
  return stroke.reduce((sum, [x, y], k) => (k ? sum + Math.hypot(x - stroke[k - 1][0], y - stroke[k - 1][1]) : 0), 0);
}

/** The vertices of a box, by where each is seen; `seen` says null for what is behind the eye. */
export function within(count: number, a: Place, b: Place, seen: (vertex: number) => Place | null): number[] {
  const [left, right] = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
  const [top, bottom] = [Math.min(a[1], b[1]), Math.max(a[1], b[1])];
  const found: number[] = [];
  for (let vertex = 0; vertex < count; vertex++) {
    const place = seen(vertex);
    if (place && place[0] >= left && place[0] <= right && place[1] >= top && place[1] <= bottom) found.push(vertex);
  }
  return found;
}

/** Parts of a list that fit into messages. */
export function parts<T>(list: readonly T[], most = MOST_VERTICES): T[][] {
  return Array.from({ length: Math.ceil(list.length / most) }, (_, k) => list.slice(k * most, (k + 1) * most));
}
