// What stands in the scene, and does not move unless somebody moves it.

import { Box3, BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh, type Ray, Raycaster, type ShaderMaterial } from "three";

import type { SceneData } from "../messages";
import { array, type Message } from "../packing";
import type { Caster } from "./heights";
import type { Light } from "./light";
import type { Look } from "./look";
import { paint, surfaceMaterial } from "./materials";
import type { Hit } from "./picking";
import { vertexNormals } from "./surface";
import { shiftOf } from "./things";

const BEHIND = 1.008; // a cloth that goes around a sharp edge in a few large triangles cuts it a little
const JUST_BEHIND = 1.0002; // rigid bodies do not, and would be seen through thin walls

export class Scenery implements Caster {
  readonly mesh: Mesh;
  readonly box = new Box3();
  readonly positions: Float32Array;
  readonly triangles: Uint32Array;
  readonly uneven = true; // a leg is thinner than the distance of its vertices
  readonly shade: BufferAttribute;
  /** Counts how often something was moved: whoever keeps what was made of the positions looks at it. */
  version = 0;
  /** Where everything stood at first, and one more than the thing that each vertex belongs to. */
  readonly #first: Float32Array;
  readonly #things: Uint32Array | null;
  readonly #farther: number;
  readonly #materials: { fine: ShaderMaterial; coarse: ShaderMaterial };

  /** Null where nothing stands. */
  static of(message: Message<SceneData>, light: Light): Scenery | null {
    const vertices = array(message, "scenery_vertices", Float32Array);
    const triangles = array(message, "scenery_triangles", Uint32Array);
    const farther = message.header.bodies === "rigid" ? JUST_BEHIND : BEHIND;
    const things = array(message, "scenery_things", Uint32Array);
    return vertices && triangles ? new Scenery(vertices, triangles, things, farther, light) : null;
  }

  private constructor(vertices: Float32Array, triangles: Uint32Array, things: Uint32Array | null, farther: number, light: Light) {
    this.#first = vertices;
    this.#things = things;
    this.#farther = farther;
    vertices = vertices.slice();
    this.positions = vertices;
    this.triangles = triangles;
    const normals = new Float32Array(vertices.length);
    vertexNormals(vertices, triangles, normals); // sharp where it should be: vertices at creases come twice
    this.shade = new BufferAttribute(new Uint8Array((2 * vertices.length) / 3).fill(255), 2, true).setUsage(DynamicDrawUsage);
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(vertices, 3));
    geometry.setAttribute("normal", new BufferAttribute(normals, 3));
    geometry.setAttribute("shade", this.shade);
    geometry.setIndex(new BufferAttribute(triangles, 1));
    this.box.setFromArray(vertices);
    // From outside only, so that a wall between the eye and the bodies hides nothing.
    this.#materials = {
      fine: surfaceMaterial(light, { fine: true, twoSided: false, farther }),
      coarse: surfaceMaterial(light, { fine: false, twoSided: false, farther }),
    };
    this.mesh = new Mesh(geometry, this.#materials.coarse);
    this.mesh.frustumCulled = false;
  }

  /** Everything to where the last frame has it. */
  move(): void {
    const things = this.#things;
    if (!things) return;
    const shifts = new Map([...new Set(things)].map((thing) => [thing, shiftOf(thing - 1)]));
    for (let vertex = 0; vertex < things.length; vertex++) {
      const shift = things[vertex] ? shifts.get(things[vertex]) : undefined;
      if (!shift) continue;
      this.positions[3 * vertex] = this.#first[3 * vertex] + shift.x;
      this.positions[3 * vertex + 1] = this.#first[3 * vertex + 1] + shift.y;
      this.positions[3 * vertex + 2] = this.#first[3 * vertex + 2] + shift.z;
    }
    this.mesh.geometry.attributes.position.needsUpdate = true;
    this.mesh.geometry.computeBoundingSphere();
    this.box.setFromArray(this.positions);
    this.version += 1;
  }

  /** The thing that a ray meets first, if it is nearer than `before` (m): what stands is drawn a little farther away. */
  pick(ray: Ray, before: number): Hit | null {
    if (!this.#things) return null;
    const [met] = new Raycaster(ray.origin, ray.direction).intersectObject(this.mesh, false);
    if (!met?.face || met.distance * this.#farther > before) return null;
    const thing = this.#things[met.face.a] - 1;
    if (thing < 0) return null;
    return { vertex: 0, grip: { thing, place: met.point.clone().sub(shiftOf(thing)) }, point: met.point.clone() };
  }

  dress(look: Look, fine: boolean): void {
    for (const material of Object.values(this.#materials)) paint(material, look.scenery);
    this.mesh.material = fine ? this.#materials.fine : this.#materials.coarse;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    for (const material of Object.values(this.#materials)) material.dispose();
  }
}
