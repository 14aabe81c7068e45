// Edges of triangles, as lines over the surface.

import { BufferAttribute, BufferGeometry, Color, LineSegments, ShaderMaterial } from "three";

const VERTEX = /* glsl */ `
void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  gl_Position.z -= 2e-4 * gl_Position.w; // over the surface it lies on
}`;

const FRAGMENT = /* glsl */ `
uniform vec3 colour;
void main() { gl_FragColor = vec4(colour, 0.55); }`;

/** The edges of triangles, each once, as pairs of vertices. */
export function edgesOf(triangles: Uint32Array, vertices: number): Uint32Array {
  const found: number[] = [];
  const seen = new Set<number>();
  for (let k = 0; k < triangles.length; k += 3) {
    for (let side = 0; side < 3; side++) {
      const a = triangles[k + side], b = triangles[k + ((side + 1) % 3)];
      const key = Math.min(a, b) * vertices + Math.max(a, b);
      if (seen.has(key)) continue;
      seen.add(key);
      found.push(a, b);
    }
  }
  return Uint32Array.from(found);
}

export class Wires {
  readonly lines: LineSegments;
  readonly #material: ShaderMaterial;

  constructor(position: BufferAttribute, triangles: Uint32Array) {
    this.#material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      uniforms: { colour: { value: new Color() } },
    });
    const geometry = new BufferGeometry().setAttribute("position", position);
    geometry.setIndex(new BufferAttribute(edgesOf(triangles, position.count), 1));
    this.lines = new LineSegments(geometry, this.#material);
    this.lines.frustumCulled = false;
  }

  dress(colour: Color): void {
    this.#material.uniforms.colour.value.copy(colour).convertLinearToSRGB();
  }

  dispose(): void {
    this.lines.geometry.dispose();
    this.#material.dispose();
  }
}
