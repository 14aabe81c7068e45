// Where a camera may be and where it must be, as plain geometry.

import { type Box3, Frustum, Matrix4, type PerspectiveCamera, Vector3 } from "three";

const ROOM = 1.15; // around what is to be seen
const LEAST_HEIGHT = 0.01; // of the distance, above the ground

/** The largest angle from `up` at which an eye so far from a target of that height is above the ground. */
export function steepest(height: number, distance: number): number {
  const lowest = LEAST_HEIGHT * distance - height;
  return Math.acos(Math.max(-1, Math.min(1, lowest / Math.max(distance, 1e-9))));
}

/** How far away an eye that looks that way must be to see all of a box around its target. */
export function distanceFor(box: Box3, fovDegrees: number, aspect: number): number {
  const radius = box.getSize(new Vector3()).length() / 2;
  const tall = (fovDegrees * Math.PI) / 360;
  const wide = Math.atan(Math.tan(tall) * aspect);
  return (ROOM * Math.max(radius, 1e-6)) / Math.sin(Math.min(tall, wide));
}

/** Whether nothing of a box is seen. */
export function outOfSight(box: Box3, camera: PerspectiveCamera): boolean {
  if (box.isEmpty()) return false;
  camera.updateMatrixWorld();
  const seen = new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
  return !new Frustum().setFromProjectionMatrix(seen).intersectsBox(box);
}

/** From 0 to 1 and back to rest. */
export function eased(part: number): number {
  const t = Math.max(0, Math.min(1, part));
  return t * t * (3 - 2 * t);
}
