// What stands in the scene and does not move.

import { Box3, BufferAttribute, BufferGeometry, Mesh, Vector3, type ShaderMaterial } from "three";

import type { SceneData } from "../messages";
import { array, type Message } from "../packing";
import type { Look } from "./look";
import { lighten, surfaceMaterial } from "./materials";
import type { Caster } from "./shade";
import { vertexNormals } from "./surface";

const BEHIND = 1.008; // a cloth that goes around a sharp edge in a few large triangles cuts it a little
const JUST_BEHIND = 1.0002; // rigid bodies do not, and would be seen through thin walls

export class Scenery {
  readonly mesh: Mesh;
  readonly box = new Box3();
  readonly caster: Caster;
  readonly #material: ShaderMaterial;

  /** Null where nothing stands. */
  static of(message: Message<SceneData>): Scenery | null {
    const vertices = array(message, "scenery_vertices", Float32Array);
    const triangles = array(message, "scenery_triangles", Uint32Array);
    const farther = message.header.bodies === "rigid" ? JUST_BEHIND : BEHIND;
    return vertices && triangles ? new Scenery(vertices, triangles, farther) : null;
  }

  private constructor(vertices: Float32Array, triangles: Uint32Array, farther: number) {
    const normals = new Float32Array(vertices.length);
    vertexNormals(vertices, triangles, normals); // sharp where it should be: vertices at creases come twice
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(vertices, 3));
    geometry.setAttribute("normal", new BufferAttribute(normals, 3));
    geometry.setIndex(new BufferAttribute(triangles, 1));
    this.caster = { positions: vertices, triangles };
    this.box.setFromArray(vertices);
    // From outside only, so that a wall between the eye and the bodies hides nothing.
    this.#material = surfaceMaterial({ twoSided: false, farther });
    this.mesh = new Mesh(geometry, this.#material);
    this.mesh.frustumCulled = false;
  }

  dress(look: Look, up: Vector3, key: Vector3): void {
    lighten(this.#material, look, look.scenery, up, key);
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.#material.dispose();
  }
}
