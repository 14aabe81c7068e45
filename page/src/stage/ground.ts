// The shadow on the ground, in two ways: for every pixel by the light's own picture, or as a small picture made of heights.

import { Color, DataTexture, LinearFilter, Mesh, PlaneGeometry, RedFormat, ShaderMaterial, Vector3 } from "three";

import { blur, SIZE, type Aim, type GroundFrame, type Heights } from "./heights";
import { SEEN, type Light } from "./light";
import type { Look } from "./look";

const CONTACT = 0.16; // of the reach: what is lower touches the ground, nearly, and its shadow is sharp
const FADE = 0.55; // of the reach, over which the shadow of what is high loses its strength
const FAINTEST = 0.35;
const BLOCKS = 16; // along a side: where no shadow falls, none is drawn
const SOFTER = 9; // times the blur that shadows on bodies have

const VERTEX = /* glsl */ `
varying vec2 place;
#ifdef FINE
varying vec3 spot;
#endif
void main() {
  place = uv;
  vec4 at = modelMatrix * vec4(position, 1.0);
  #ifdef FINE
    spot = at.xyz;
  #endif
  gl_Position = projectionMatrix * viewMatrix * at;
}`;

const COARSE = /* glsl */ `
varying vec2 place;
uniform sampler2D shade;
uniform vec3 colour;
uniform float strength;
void main() { gl_FragColor = vec4(colour, strength * texture2D(shade, place).r); }`;

const FINE = /* glsl */ `
${SEEN}
varying vec2 place;
varying vec3 spot;
uniform vec3 up;
uniform vec3 key;
uniform vec3 colour;
uniform float strength;
uniform sampler2D shade;
void main() {
  float turn = grain(gl_FragCoord.xy);
  float visible = keySeen(spot, up, key, ${SOFTER.toFixed(1)} * lightScale.w, turn);
  float open = skySeen(spot, up, up, turn);
  vec2 rim = smoothstep(vec2(0.0), vec2(0.08), 0.5 - abs(place - 0.5));
  float lit = (0.4 + 0.6 * visible) * (0.6 + 0.4 * open) * (1.0 - 0.7 * texture2D(shade, place).r);
  gl_FragColor = vec4(colour, strength * rim.x * rim.y * (1.0 - lit));
}`;

export class Ground {
  readonly mesh: Mesh;
  readonly #picture = new Uint8Array(SIZE * SIZE);
  readonly #near = new Float32Array(SIZE * SIZE);
  readonly #far = new Float32Array(SIZE * SIZE);
  readonly #spare = new Float32Array(SIZE * SIZE);
  readonly #geometry = new PlaneGeometry(2, 2, BLOCKS, BLOCKS);
  /** The triangles of all blocks; those that are drawn are some of them. */
  readonly #all: Uint16Array;
  readonly #texture: DataTexture;
  readonly #coarse: ShaderMaterial;
  readonly #fine: ShaderMaterial;

  constructor(light: Light) {
    this.#texture = new DataTexture(this.#picture, SIZE, SIZE, RedFormat);
    this.#texture.magFilter = this.#texture.minFilter = LinearFilter;
    const own = { colour: { value: new Color() }, strength: { value: 0.5 } };
    const under = { transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 };
    this.#coarse = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: COARSE,
      ...under,
      uniforms: { ...own, shade: { value: this.#texture } },
    });
    this.#fine = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FINE,
      defines: { FINE: "", TAPS: 24, AROUND: 16 },
      ...under,
      uniforms: { ...light.uniforms, ...own, shade: { value: this.#texture } },
    });
    this.#all = this.#geometry.index?.array.slice() as Uint16Array;
    this.mesh = new Mesh(this.#geometry, this.#coarse);
    this.mesh.frustumCulled = false;
  }

  dress(look: Look): void {
    this.#coarse.uniforms.colour.value.copy(look.shade).convertLinearToSRGB();
    this.#coarse.uniforms.strength.value = look.shadow;
  }

  /** For every pixel, or by the picture. */
  refine(fine: boolean): void {
    this.mesh.material = fine ? this.#fine : this.#coarse;
    if (fine) this.#draw(() => true);
  }

  /** Lie where shadows fall. */
  place({ x, y, reach }: Aim, ground: GroundFrame): void {
    this.mesh.position.copy(ground.origin).addScaledVector(ground.right, x).addScaledVector(ground.ahead, y);
    this.mesh.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), ground.up);
    this.mesh.scale.set(reach, reach, 1);
  }

  /** Paint only where things touch the ground. */
  touch({ lowest }: Heights, { reach }: Aim): void {
    const near = this.#near;
    for (let k = 0; k < near.length; k++) near[k] = Math.max(0, 1 - lowest[k] / (CONTACT * reach));
    blur(near, this.#spare, 1, 3);
    for (let k = 0; k < near.length; k++) this.#picture[k] = 255 * Math.min(near[k], 1);
    this.#texture.needsUpdate = true;
  }

  /** Paint the picture: what is low casts a sharp and dark shadow, what is high a soft and faint one. */
  paint({ highest, lowest }: Heights, { reach }: Aim): void {
    const near = this.#near, far = this.#far;
    for (let k = 0; k < near.length; k++) {
      near[k] = Math.max(0, 1 - lowest[k] / (CONTACT * reach));
      far[k] = highest[k] > 0 ? Math.max(FAINTEST, 1 - (FADE * Math.min(lowest[k], highest[k])) / reach) : 0;
    }
    blur(near, this.#spare, 1, 2);
    blur(far, this.#spare, 3, 3);
    for (let k = 0; k < near.length; k++) {
      this.#picture[k] = 255 * (1 - (1 - 0.8 * far[k]) * (1 - 0.6 * Math.min(near[k], 1)));
    }
    this.#texture.needsUpdate = true;
    const side = SIZE / BLOCKS;
    this.#draw((column, row) => {
      // Between pixels the picture is a mean of them, so the neighbours' count as well.
      for (let y = Math.max(row * side - 1, 0); y <= Math.min((row + 1) * side, SIZE - 1); y++) {
        for (let x = Math.max(column * side - 1, 0); x <= Math.min((column + 1) * side, SIZE - 1); x++) {
          if (this.#picture[y * SIZE + x] > 1) return true;
        }
      }
      return false;
    });
  }

  /** Draw the blocks that are wanted. */
  #draw(wanted: (column: number, row: number) => boolean): void {
    const index = this.#geometry.index!;
    const into = index.array as Uint16Array;
    let count = 0;
    for (let k = 0; k < BLOCKS * BLOCKS; k++) {
      // The plane's blocks begin with the uppermost row, the picture with the lowest.
      if (!wanted(k % BLOCKS, BLOCKS - 1 - Math.floor(k / BLOCKS))) continue;
      into.set(this.#all.subarray(6 * k, 6 * k + 6), count);
      count += 6;
    }
    index.needsUpdate = true;
    this.#geometry.setDrawRange(0, count);
  }
}
