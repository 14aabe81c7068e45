// Which vertex is under the pointer.

import {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  type PerspectiveCamera,
  Ray,
  Raycaster,
  Triangle,
  Vector2,
  Vector3,
} from "three";
import { MeshBVH } from "three-mesh-bvh";

import type { Viewport } from "./layout";
import { shiftOf } from "./things";

const NEAR_WIRE = 14; // CSS pixels from a vertex of a wire that still mean it
const FRESH = 200; // ms that a tree fitted to an earlier frame is good enough to hover by

/** A point of a surface that stays the same point when the surface moves: corners of a triangle, and their weights. */
export interface Grip {
  corners: [number, number, number];
  weights: [number, number, number];
}

/** A point of a thing that stands: where it was before the thing was moved. */
export interface ThingGrip {
  thing: number;
  place: Vector3;
}

/** Where a grip is. */
export function placeOf(grip: Grip | ThingGrip, positions: Float32Array): Vector3 {
  if ("thing" in grip) return grip.place.clone().add(shiftOf(grip.thing));
  const { corners, weights } = grip;
  const place = new Vector3();
  corners.forEach((corner, k) => place.addScaledVector(new Vector3().fromArray(positions, 3 * corner), weights[k]));
  return place;
}

export interface Hit {
  /** 0 for things that stand. */
  vertex: number;
  /** What is held: the vertex, or of rigid bodies and of things the point itself. */
  grip: Grip | ThingGrip;
  /** Where the ray met the surface; for wires, the vertex. */
  point: Vector3;
}

interface PickerOptions {
  soft?: number;
  immovable?: Uint32Array | null;
  wires?: boolean;
}

/** The ray through a place on the stage (CSS pixels) that lies in `viewport`. */
export function rayThrough(x: number, y: number, viewport: Viewport, camera: PerspectiveCamera): Ray {
  const place = new Vector2(
    (2 * (x - viewport.x)) / viewport.width - 1,
    1 - (2 * (y - viewport.y)) / viewport.height,
  );
  const caster = new Raycaster();
  caster.setFromCamera(place, camera);
  return caster.ray;
}

export class Picker {
  readonly #geometry = new BufferGeometry();
  readonly #triangles: Uint32Array | null;
  readonly #positions: Float32Array[];
  readonly #attributes: BufferAttribute[];
  readonly #soft: number;
  readonly #immovable: Set<number>;
  readonly #wires: boolean;
  #tree: MeshBVH | null = null;
  #fitted = { view: -1, at: -Infinity };

  /**
   * `positions` of each view; the views have the triangles in common. Of vertices from number
   * `soft` on, which are of rigid bodies, points are held and not vertices; `immovable`: vertices that nobody can take;
   * `wires`: soft bodies have no triangles, though rigid ones may.
   */
  constructor(
    triangles: Uint32Array | null,
    positions: Float32Array[],
    { soft = Infinity, immovable = null, wires = !triangles }: PickerOptions = {},
  ) {
    this.#soft = soft;
    this.#wires = wires;
    this.#immovable = new Set(immovable);
    this.#triangles = triangles;
    this.#positions = positions;
    this.#attributes = positions.map((values) => new BufferAttribute(values, 3));
    if (triangles) this.#geometry.setIndex(new BufferAttribute(triangles, 1));
  }

  /** Build the tree, which takes a while, when there is time for it. */
  prepare(): void {
    if (!this.#triangles || this.#tree) return;
    this.#geometry.setAttribute("position", this.#attributes[0]);
    this.#tree = new MeshBVH(this.#geometry, { indirect: true, targetLeafSize: 16 });
    this.#fitted = { view: 0, at: performance.now() };
  }

  /** The vertex that a ray meets first in a view. `hovering`: an answer that is a little late will do. */
  pick(ray: Ray, view: number, camera: PerspectiveCamera, viewport: Viewport, hovering: boolean): Hit | null {
    if (!this.#triangles) return this.#nearest(ray, view, camera, viewport);
    this.#fit(view, hovering);
    const met = this.#tree?.raycastFirst(ray, DoubleSide);
    if (!met?.face) return this.#wires ? this.#nearest(ray, view, camera, viewport) : null;
    const vertex = [met.face.a, met.face.b, met.face.c].reduce((best, next) =>
      this.#at(next, view).distanceToSquared(met.point) < this.#at(best, view).distanceToSquared(met.point) ? next : best,
    );
    if (this.#immovable.has(vertex)) return null;
    return { vertex, grip: this.#grip(vertex, met.face, met.point, view), point: met.point.clone() };
  }

  /** Where a ray meets the surface first, as a point that stays the same point when the surface moves. */
  touch(ray: Ray, view: number): { grip: Grip; point: Vector3 } | null {
    if (!this.#triangles) return null;
    this.#fit(view, false);
    const met = this.#tree?.raycastFirst(ray, DoubleSide);
    if (!met?.face) return null;
    const corners: Grip["corners"] = [met.face.a, met.face.b, met.face.c];
    const [a, b, c] = corners.map((corner) => this.#at(corner, view));
    const weights = Triangle.getBarycoord(met.point, a, b, c, new Vector3());
    return weights && { grip: { corners, weights: weights.toArray() }, point: met.point.clone() };
  }

  #grip(vertex: number, face: { a: number; b: number; c: number }, point: Vector3, view: number): Grip {
    const corners: Grip["corners"] = [face.a, face.b, face.c];
    const [a, b, c] = corners.map((corner) => this.#at(corner, view));
    const weights = vertex >= this.#soft ? Triangle.getBarycoord(point, a, b, c, new Vector3()) : null;
    return weights ? { corners, weights: weights.toArray() } : whole(vertex);
  }

  #fit(view: number, hovering: boolean): void {
    const now = performance.now();
    if (!this.#tree) this.prepare();
    if (this.#fitted.view === view && hovering && now - this.#fitted.at < FRESH) return;
    this.#geometry.setAttribute("position", this.#attributes[view]);
    this.#tree?.refit();
    this.#fitted = { view, at: now };
  }

  #at(vertex: number, view: number): Vector3 {
    return new Vector3().fromArray(this.#positions[view], 3 * vertex);
  }

  #nearest(ray: Ray, view: number, camera: PerspectiveCamera, viewport: Viewport): Hit | null {
    const positions = this.#positions[view];
    // A pixel at distance 1 is this wide; farther away it is as many times wider.
    const pixel = (2 * Math.tan((camera.fov * Math.PI) / 360)) / viewport.height;
    const forward = camera.getWorldDirection(new Vector3());
    const point = new Vector3();
    const away = new Vector3();
    let best = -1;
    let least = NEAR_WIRE;
    for (let vertex = 0; vertex < Math.min(this.#soft, positions.length / 3); vertex++) {
      point.fromArray(positions, 3 * vertex);
      const depth = away.subVectors(point, ray.origin).dot(forward);
      const pixels = depth > 0 ? ray.distanceToPoint(point) / (depth * pixel) : Infinity;
      if (pixels < least) [best, least] = [vertex, pixels];
    }
    return best < 0 ? null : { vertex: best, grip: whole(best), point: this.#at(best, view) };
  }
}

function whole(vertex: number): Grip {
  return { corners: [vertex, vertex, vertex], weights: [1, 0, 0] };
}
