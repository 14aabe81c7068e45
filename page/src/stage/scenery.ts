// What stands in the scene and does not move.

import { Box3, BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh, type ShaderMaterial } from "three";

import type { SceneData } from "../messages";
import { array, type Message } from "../packing";
import type { Caster } from "./heights";
import type { Light } from "./light";
import type { Look } from "./look";
import { paint, surfaceMaterial } from "./materials";
import { vertexNormals } from "./surface";

const BEHIND = 1.008; // a cloth that goes around a sharp edge in a few large triangles cuts it a little
const JUST_BEHIND = 1.0002; // rigid bodies do not, and would be seen through thin walls

export class Scenery implements Caster {
  readonly mesh: Mesh;
  readonly box = new Box3();
  readonly positions: Float32Array;
  readonly triangles: Uint32Array;
  readonly uneven = true; // a leg is thinner than the distance of its vertices
  readonly shade: BufferAttribute;
  readonly #materials: { fine: ShaderMaterial; coarse: ShaderMaterial };

  /** Null where nothing stands. */
  static of(message: Message<SceneData>, light: Light): Scenery | null {
    const vertices = array(message, "scenery_vertices", Float32Array);
    const triangles = array(message, "scenery_triangles", Uint32Array);
    const farther = message.header.bodies === "rigid" ? JUST_BEHIND : BEHIND;
    return vertices && triangles ? new Scenery(vertices, triangles, farther, light) : null;
  }

  private constructor(vertices: Float32Array, triangles: Uint32Array, farther: number, light: Light) {
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

  dress(look: Look, fine: boolean): void {
    for (const material of Object.values(this.#materials)) paint(material, look.scenery);
    this.mesh.material = fine ? this.#materials.fine : this.#materials.coarse;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    for (const material of Object.values(this.#materials)) material.dispose();
  }
}
