// The ghost: a second body that one can see through, where frames have one.

import { BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, Mesh, ShaderMaterial } from "three";

import type { FrameData, SceneData } from "../messages";
import { array, type Message } from "../packing";
import type { Theme } from "./colours";
import { decode, vertexNormals } from "./surface";

const COLOURS: Record<Theme, string> = { light: "#c2540a", dark: "#f5a15a" };

/** Clear where one looks straight at it, denser towards its outline. */
const VERTEX = `
varying vec3 vNormal;
varying vec3 vView;
void main() {
  vec4 place = modelViewMatrix * vec4(position, 1.0);
  vNormal = normalMatrix * normal;
  vView = -place.xyz;
  gl_Position = projectionMatrix * place;
}`;
const FRAGMENT = `
uniform vec3 colour;
varying vec3 vNormal;
varying vec3 vView;
void main() {
  float facing = abs(dot(normalize(vNormal), normalize(vView)));
  gl_FragColor = vec4(colour, 0.28 + 0.5 * pow(1.0 - facing, 2.0));
  #include <colorspace_fragment>
}`;

export class Ghost {
  readonly mesh: Mesh;
  readonly #material: ShaderMaterial;
  #positions = new Float32Array(0);
  #triangles = new Uint32Array(0);

  constructor() {
    this.#material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: { colour: { value: new Color(COLOURS.light) } },
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
      // Where both are at the same place, the live one is seen.
      polygonOffset: true,
      polygonOffsetFactor: 2,
      polygonOffsetUnits: 8,
    });
    this.mesh = new Mesh(new BufferGeometry(), this.#material);
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
  }

  /** Another scene. */
  load(message: Message<SceneData>): void {
    // Of soft bodies alone, whose triangles come first.
    const { soft } = message.header;
    const triangles = array(message, "triangles", Uint32Array) ?? new Uint32Array(0);
    const others = triangles.findIndex((corner) => corner >= soft);
    this.#positions = new Float32Array(3 * soft);
    this.#triangles = others < 0 ? triangles : triangles.slice(0, others - (others % 3));
    const geometry = new BufferGeometry();
    for (const name of ["position", "normal"]) {
      const values = name === "position" ? this.#positions : new Float32Array(this.#positions.length);
      geometry.setAttribute(name, new BufferAttribute(values, 3).setUsage(DynamicDrawUsage));
    }
    geometry.setIndex(new BufferAttribute(this.#triangles, 1));
    this.mesh.geometry.dispose();
    this.mesh.geometry = geometry;
    this.mesh.visible = false;
  }

  /** Where the ghost of a frame is, if it has one. */
  show(message: Message<FrameData>): void {
    const { ghost } = message.header;
    const packed = array(message, "ghost", Uint16Array);
    this.mesh.visible = ghost !== null && packed !== null && packed.length === this.#positions.length;
    if (!this.mesh.visible || !ghost || !packed) return;
    decode(packed, ghost.low, ghost.scale, this.#positions);
    const { position, normal } = this.mesh.geometry.attributes;
    vertexNormals(this.#positions, this.#triangles, normal.array as Float32Array);
    position.needsUpdate = true;
    normal.needsUpdate = true;
  }

  dress(theme: Theme): void {
    this.#material.uniforms.colour.value.set(COLOURS[theme]);
  }
}
