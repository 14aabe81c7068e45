// What is behind everything: a gradient, and the ground, whose light fades before it ends, so that there is no horizon.
// Both are so smooth that their colours are found at the corners of a coarse grid over the view, and the rest is between.

import { BufferAttribute, BufferGeometry, Color, Matrix4, Mesh, type PerspectiveCamera, ShaderMaterial, Vector3 } from "three";

import type { Look } from "./look";

const CELLS = 40;

const VERTEX = /* glsl */ `
uniform vec3 above;
uniform vec3 below;
uniform vec3 floorColour;
uniform vec3 up;
uniform vec3 middle;
uniform float reach;
uniform mat4 unseen;
varying vec3 colour;
void main() {
  gl_Position = vec4(position.xy, 1.0, 1.0);
  colour = mix(below, above, smoothstep(-1.0, 1.0, position.y));
  vec4 far = unseen * vec4(position.xy, 1.0, 1.0);
  vec3 ray = far.xyz / far.w - cameraPosition;
  float high = dot(cameraPosition - middle, up);
  float down = -dot(ray, up);
  if (reach > 0.0 && high > 0.0 && down > 1e-6) {
    float away = length(cameraPosition + ray * (high / down) - middle) / reach;
    colour = mix(colour, floorColour, 1.0 - smoothstep(0.1, 1.0, away));
  }
}`;

const FRAGMENT = /* glsl */ `
varying vec3 colour;
void main() {
  // Grain hides the steps of eight bits.
  float grain = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) - 0.5;
  gl_FragColor = vec4(colour + grain / 255.0, 1.0);
}`;

export class Backdrop {
  readonly mesh: Mesh;
  readonly #uniforms = {
    above: { value: new Color() },
    below: { value: new Color() },
    floorColour: { value: new Color() },
    up: { value: new Vector3(0, 1, 0) },
    middle: { value: new Vector3() },
    reach: { value: 0 },
    unseen: { value: new Matrix4() },
  };

  constructor() {
    this.mesh = new Mesh(
      grid(),
      new ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        depthWrite: false,
        uniforms: this.#uniforms,
      }),
    );
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 1; // after the bodies and farther than anything: only what they leave free is painted
    this.mesh.onBeforeRender = (_renderer, _scene, camera) => {
      const { projectionMatrixInverse, matrixWorld } = camera as PerspectiveCamera;
      this.#uniforms.unseen.value.multiplyMatrices(matrixWorld, projectionMatrixInverse);
    };
  }

  /** The ground is lit around `middle`, `reach` far; no reach, no ground. */
  place(middle: Vector3, up: Vector3, reach: number): void {
    this.#uniforms.middle.value.copy(middle);
    this.#uniforms.up.value.copy(up);
    this.#uniforms.reach.value = reach;
  }

  dress(look: Look): void {
    // As the screen shows them, not as light: the shader writes them without conversion.
    this.#uniforms.above.value.copy(look.above).convertLinearToSRGB();
    this.#uniforms.below.value.copy(look.below).convertLinearToSRGB();
    this.#uniforms.floorColour.value.copy(look.floor).convertLinearToSRGB();
  }
}

function grid(): BufferGeometry {
  const corners = new Float32Array(3 * (CELLS + 1) ** 2);
  const triangles: number[] = [];
  for (let row = 0; row <= CELLS; row++) {
    for (let column = 0; column <= CELLS; column++) {
      const k = row * (CELLS + 1) + column;
      corners.set([(2 * column) / CELLS - 1, (2 * row) / CELLS - 1], 3 * k);
      if (row < CELLS && column < CELLS) {
        triangles.push(k, k + 1, k + CELLS + 1, k + 1, k + CELLS + 2, k + CELLS + 1);
      }
    }
  }
  return new BufferGeometry().setAttribute("position", new BufferAttribute(corners, 3)).setIndex(triangles);
}
