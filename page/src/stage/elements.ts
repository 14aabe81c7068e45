// Tetrahedra one by one, each shrunk towards its middle, so that one sees into the body. Their corners are looked up in a picture
// of the positions: only that changes from frame to frame.

import {
  BufferAttribute,
  Color,
  DataTexture,
  FloatType,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  Mesh,
  RGBAFormat,
  ShaderMaterial,
} from "three";

import { LIGHTING, type Light } from "./light";

const WIDTH = 1024; // vertices in a row of the picture
const SHRUNK = 0.78;
// The corners of the four faces of a tetrahedron with positive volume, counter-clockwise from outside.
const FACES = [1, 2, 3, 0, 3, 2, 0, 1, 3, 0, 2, 1];

const VERTEX = /* glsl */ `
${LIGHTING}
attribute vec4 corners;
uniform highp sampler2D places;
uniform vec3 colour;
#ifdef COLOURED
uniform highp sampler2D tints;
#endif
flat varying vec3 vColour;
ivec2 cell(float vertex) { int k = int(vertex + 0.5); return ivec2(k % ${WIDTH}, k / ${WIDTH}); }
void main() {
  vec3 p[4];
  vec3 tint = vec3(0.0);
  for (int k = 0; k < 4; k++) {
    p[k] = texelFetch(places, cell(corners[k]), 0).xyz;
    #ifdef COLOURED
      tint += 0.25 * texelFetch(tints, cell(corners[k]), 0).rgb;
    #endif
  }
  vec3 middle = 0.25 * (p[0] + p[1] + p[2] + p[3]);
  int a = int(position.x + 0.5), b = int(position.y + 0.5), c = int(position.z + 0.5); // numbers of corners, not places
  vec3 n = normalize(cross(p[b] - p[a], p[c] - p[a]));
  vec3 place = middle + ${SHRUNK} * (p[a] - middle);
  #ifdef COLOURED
    vec3 shown = tint;
  #else
    vec3 shown = colour * (0.94 + 0.12 * fract(sin(corners.x * 12.9898 + corners.y * 78.233) * 43758.5453));
  #endif
  vColour = shown * sqrt(lightOn(n, normalize(cameraPosition - place), 1.0, 0.8, 0.0, 0.0));
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
}`;

const FRAGMENT = /* glsl */ `
flat varying vec3 vColour;
void main() { gl_FragColor = vec4(vColour, 1.0); }`;

export class Elements {
  readonly mesh: Mesh;
  readonly #positions: Float32Array;
  readonly #places: DataTexture;
  readonly #tints: DataTexture;
  readonly #material: ShaderMaterial;

  constructor(light: Light, tets: Uint32Array, positions: Float32Array, tint: Uint8Array) {
    this.#positions = positions;
    const rows = Math.ceil(positions.length / 3 / WIDTH);
    this.#places = new DataTexture(new Float32Array(4 * WIDTH * rows), WIDTH, rows, RGBAFormat, FloatType);
    this.#tints = new DataTexture(new Uint8Array(4 * WIDTH * rows), WIDTH, rows);
    (this.#tints.image.data as Uint8Array).set(tint);
    const geometry = new InstancedBufferGeometry();
    // Every corner says which face it is of, itself first.
    const faces: number[] = [];
    for (let k = 0; k < FACES.length; k += 3) {
      for (let turn = 0; turn < 3; turn++) for (let c = 0; c < 3; c++) faces.push(FACES[k + ((turn + c) % 3)]);
    }
    geometry.setAttribute("position", new BufferAttribute(Float32Array.from(faces), 3));
    geometry.setAttribute("corners", new InstancedBufferAttribute(Float32Array.from(tets), 4));
    geometry.instanceCount = tets.length / 4;
    this.#material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: {
        ...light.uniforms,
        colour: { value: new Color() },
        places: { value: this.#places },
        tints: { value: this.#tints },
      },
    });
    this.mesh = new Mesh(geometry, this.#material);
    this.mesh.frustumCulled = false;
  }

  /** Follow the positions, and the vertices' colours where they have any. */
  show(tint: Uint8Array | null): void {
    const into = this.#places.image.data as Float32Array;
    for (let from = 0, to = 0; from < this.#positions.length; from += 3, to += 4) {
      into[to] = this.#positions[from];
      into[to + 1] = this.#positions[from + 1];
      into[to + 2] = this.#positions[from + 2];
    }
    this.#places.needsUpdate = true;
    if (tint) {
      (this.#tints.image.data as Uint8Array).set(tint);
      this.#tints.needsUpdate = true;
    }
    if ((this.#material.defines.COLOURED !== undefined) !== (tint !== null)) {
      if (tint) this.#material.defines.COLOURED = "";
      else delete this.#material.defines.COLOURED;
      this.#material.needsUpdate = true;
    }
  }

  dress(colour: Color): void {
    this.#material.uniforms.colour.value.copy(colour).convertLinearToSRGB();
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.#material.dispose();
    this.#places.dispose();
    this.#tints.dispose();
  }
}
