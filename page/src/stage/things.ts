// What stands in the scene and can be moved by hand: how far each has gone, by the last frame that was shown.

import { Vector3 } from "three";

let shifts: number[][] = [];

/** Whether that is news. */
export function setShifts(now: number[][]): boolean {
  const same = now.length === shifts.length && now.every((shift, k) => shift.every((value, axis) => value === shifts[k][axis]));
  if (!same) shifts = now;
  return !same;
}

export function shiftOf(thing: number): Vector3 {
  return new Vector3().fromArray(shifts[thing] ?? [0, 0, 0]);
}
