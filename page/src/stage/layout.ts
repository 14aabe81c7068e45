// Where on the stage each view is seen, for whoever writes over it.

import { signal } from "@preact/signals";

/** CSS pixels from the upper left corner of the canvas. */
export interface Viewport {
  x: number;
  y: number;
  width: number;
  height: number;
}

const GAP = 2; // CSS pixels: the line between the two views
const UPRIGHT = 0.8; // narrower than this, views go one above the other

export const viewports = signal<Viewport[]>([]);

/** Divide the stage; the views differ by nothing but what is in them, so they are equally large. */
export function divide(width: number, height: number, views: number): Viewport[] {
  if (views < 2) return [{ x: 0, y: 0, width, height }];
  if (width / height < UPRIGHT) {
    const half = (height - GAP) / 2;
    return [
      { x: 0, y: 0, width, height: half },
      { x: 0, y: half + GAP, width, height: half },
    ];
  }
  const half = (width - GAP) / 2;
  return [
    { x: 0, y: 0, width: half, height },
    { x: half + GAP, y: 0, width: half, height },
  ];
}

/** The view at a place on the stage; the nearer one on the line between them. */
export function viewAt(x: number, y: number): number {
  const all = viewports.value;
  const second = all[1];
  return second && x >= second.x - GAP / 2 && y >= second.y - GAP / 2 ? 1 : 0;
}
