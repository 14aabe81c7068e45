// A line from what each pointer holds to where its pointer pulls it; it follows the pointer at once, before the body does.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, LineBasicMaterial, LineSegments, Points, type ShaderMaterial } from "three";

import { placeOf } from "./picking";
import type { HoldingPointer } from "./pointers";
import type { Look } from "./look";
import { dotMaterial } from "./dots";

const MOST = 10;

export class Strings {
  readonly group = new Group();
  readonly #ends = new BufferAttribute(new Float32Array(6 * MOST), 3).setUsage(DynamicDrawUsage);
  readonly #line = new LineBasicMaterial({ transparent: true, opacity: 0.85, depthTest: false });
  readonly #dot: ShaderMaterial = dotMaterial(0);
  readonly #lines: LineSegments;
  readonly #dots: Points;

  constructor() {
    const geometry = new BufferGeometry().setAttribute("position", this.#ends);
    this.#lines = new LineSegments(geometry, this.#line);
    const ends = new BufferGeometry().setAttribute("position", this.#ends);
    ends.setIndex(Array.from({ length: MOST }, (_, k) => 2 * k + 1));
    this.#dot.depthTest = false;
    this.#dots = new Points(ends, this.#dot);
    for (const object of [this.#lines, this.#dots]) {
      object.frustumCulled = false;
      object.renderOrder = 2;
      this.group.add(object);
    }
  }

  dress(look: Look, pixel: number): void {
    this.#line.color.copy(look.pointer);
    this.#dot.uniforms.colour.value.copy(look.pointer);
    this.#dot.uniforms.size.value = 9 * pixel;
  }

  /** From where one view shows what is held. */
  tie(pointers: Iterable<HoldingPointer>, positions: Float32Array): void {
    const ends = this.#ends.array as Float32Array;
    let count = 0;
    for (const { grip, target } of pointers) {
      placeOf(grip, positions).toArray(ends, 6 * count);
      target.toArray(ends, 6 * count + 3);
      count += 1;
    }
    this.group.visible = count > 0;
    if (!count) return;
    this.#ends.needsUpdate = true;
    this.#lines.geometry.setDrawRange(0, 2 * count);
    this.#dots.geometry.setDrawRange(0, count);
  }
}
