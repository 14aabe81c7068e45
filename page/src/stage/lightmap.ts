// What the key light sees: a picture of depths, drawn by the graphics card, from which every pixel learns whether it is in the
// shade and how much is around it.

import {
  type BufferGeometry,
  DepthTexture,
  DoubleSide,
  LessEqualCompare,
  LinearFilter,
  Matrix4,
  Mesh,
  NoBlending,
  OrthographicCamera,
  Scene,
  ShaderMaterial,
  UnsignedIntType,
  Vector3,
  type Box3,
  type WebGLRenderer,
  WebGLRenderTarget,
} from "three";

import type { Light } from "./light";

const ROOM = 1.06; // around what casts shadows
const STEP = 1.15; // the reach changes in such steps only: one that changed with every frame would shimmer
const BELOW = 6; // reaches below the bodies that shadows may fall
const NEIGHBOURHOOD = 0.16; // of the reach: how far away things take light of the sky
const BLUR = 0.0028; // of the reach

const DEPTH = new ShaderMaterial({
  vertexShader: "void main() { gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0); }",
  fragmentShader: "void main() {}",
  side: DoubleSide,
  blending: NoBlending,
  colorWrite: false,
  polygonOffset: true,
  polygonOffsetFactor: 1,
  polygonOffsetUnits: 2,
});

/** The square that the light must see: its middle across the light and half its side; depths along the light. */
export interface Sight {
  middle: Vector3;
  reach: number;
  nearest: number;
  farthest: number;
}

/** What the light sees of a box; in steps, so that pixels of the picture stay where they are. */
export function sightOf(box: Box3, right: Vector3, ahead: Vector3, key: Vector3, pixels: number): Sight {
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = low.clone().negate();
  const corner = new Vector3();
  for (let k = 0; k < 8; k++) {
    corner.set((k & 1 ? box.max : box.min).x, (k & 2 ? box.max : box.min).y, (k & 4 ? box.max : box.min).z);
    const seen = new Vector3(corner.dot(right), corner.dot(ahead), corner.dot(key));
    low.min(seen);
    high.max(seen);
  }
  const needed = Math.max((ROOM * Math.max(high.x - low.x, high.y - low.y)) / 2, 1e-6);
  const reach = STEP ** Math.ceil(Math.log(needed) / Math.log(STEP));
  const pixel = (2 * reach) / pixels;
  const snapped = (value: number) => Math.round(value / pixel) * pixel;
  const middle = right.clone().multiplyScalar(snapped((low.x + high.x) / 2)).addScaledVector(ahead, snapped((low.y + high.y) / 2));
  return { middle, reach, nearest: high.z, farthest: low.z };
}

export class LightMap {
  readonly #scene = new Scene();
  readonly #camera = new OrthographicCamera();
  readonly #matrix = new Matrix4();
  #target: WebGLRenderTarget | null = null;
  #reach = 1;

  /** Draw the picture anew. `frame`: two axes across the light, and the way to it. */
  render(renderer: WebGLRenderer, casters: BufferGeometry[], box: Box3, frame: [Vector3, Vector3, Vector3], pixels: number): void {
    const [right, ahead, key] = frame;
    const { middle, reach, nearest, farthest } = sightOf(box, right, ahead, key, pixels);
    const camera = this.#camera;
    camera.left = camera.bottom = -reach;
    camera.right = camera.top = reach;
    camera.near = 0;
    camera.far = nearest - farthest + (BELOW + 1) * reach;
    camera.position.copy(middle).addScaledVector(key, nearest + 0.5 * reach);
    camera.up.copy(ahead);
    camera.lookAt(middle.clone().addScaledVector(key, farthest));
    camera.updateMatrixWorld();
    camera.updateProjectionMatrix();
    this.#matrix.set(0.5, 0, 0, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 1);
    this.#matrix.multiply(camera.projectionMatrix).multiply(camera.matrixWorldInverse);
    this.#reach = reach;
    this.#scene.children = casters.map((geometry) => {
      const mesh = new Mesh(geometry, DEPTH);
      mesh.frustumCulled = false;
      return mesh;
    });
    if (this.#target?.width !== pixels) this.#make(pixels);
    renderer.setRenderTarget(this.#target);
    renderer.clear(false, true, false);
    renderer.render(this.#scene, camera);
    renderer.setRenderTarget(null);
  }

  /** Let the surfaces be seen by this light. */
  shine(light: Light): void {
    const { lightMap, lightMatrix, lightScale } = light.uniforms;
    const pixels = this.#target?.width ?? 1;
    lightMap.value = this.#target?.depthTexture ?? null;
    lightMatrix.value.copy(this.#matrix);
    lightScale.value.set((2 * this.#reach) / pixels, 1 / pixels, NEIGHBOURHOOD * this.#reach, BLUR * pixels);
  }

  dispose(): void {
    this.#target?.depthTexture?.dispose();
    this.#target?.dispose();
    this.#target = null;
  }

  #make(pixels: number): void {
    this.dispose();
    const depth = new DepthTexture(pixels, pixels, UnsignedIntType);
    depth.compareFunction = LessEqualCompare;
    depth.magFilter = depth.minFilter = LinearFilter;
    this.#target = new WebGLRenderTarget(pixels, pixels, { depthTexture: depth });
  }
}
