// The bodies of one view: a surface or wires, with marks at the vertices that are pinned or held.

import {
  Box3,
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  Points,
  type ShaderMaterial,
  type Vector3,
} from "three";

import type { ColourBy, FrameData, SceneData } from "../messages";
import { array, type Message } from "../packing";
import { categoricalBytes, rampBytes, type Theme } from "./colours";
import type { Look } from "./look";
import { dotMaterial, lighten, surfaceMaterial } from "./materials";
import { colourise, decode, sharedOut, vertexNormals } from "./surface";

const STEPS = 65535; // what the largest uint16 means
const MOST_HELD = 4096; // marks; a pointer that holds more shows these

export class Body {
  readonly group = new Group();
  readonly positions: Float32Array;
  /** Around the frame that is shown. */
  readonly box = new Box3();
  /** Null where there are only wires. */
  readonly triangles: Uint32Array | null;
  readonly uneven: boolean;
  readonly #soft: number;
  readonly #position: BufferAttribute;
  readonly #normal: BufferAttribute | null = null;
  readonly #tint: BufferAttribute;
  readonly #plain: Uint8Array | null;
  readonly #materials: { plain: ShaderMaterial; smooth: ShaderMaterial; flat: ShaderMaterial };
  readonly #mesh: Mesh | null = null;
  readonly #wire: LineBasicMaterial | null = null;
  readonly #beads: ShaderMaterial | null = null;
  readonly #pins: ShaderMaterial;
  readonly #rings: ShaderMaterial;
  readonly #held: BufferAttribute;
  readonly #heldPoints: Points;
  #values: Uint8Array | null = null;
  #colourBy: ColourBy = "plain";
  #theme: Theme = "light";

  constructor(message: Message<SceneData>) {
    const count = message.header.vertices;
    this.uneven = message.header.soft < count;
    this.#soft = message.header.soft;
    this.positions = new Float32Array(3 * count);
    this.#position = changing(this.positions, 3);
    this.#tint = new BufferAttribute(new Uint8Array(4 * count), 4, true);
    this.#tint.setUsage(DynamicDrawUsage);
    const triangles = array(message, "triangles", Uint32Array);
    this.triangles = triangles && sharedOut(triangles, count);
    this.#plain = array(message, "colours", Uint8Array);
    this.#materials = {
      plain: surfaceMaterial({ twoSided: true }),
      smooth: surfaceMaterial({ coloured: "smooth", twoSided: true }),
      flat: surfaceMaterial({ coloured: "flat", twoSided: true }),
    };
    if (this.triangles) {
      this.#normal = changing(new Float32Array(3 * count), 3);
      const surface = this.#sharing(this.triangles);
      surface.setAttribute("normal", this.#normal);
      surface.setAttribute("tint", this.#tint);
      this.#mesh = new Mesh(surface, this.#materials.plain);
      this.#add(this.#mesh);
    }
    const edges = array(message, "edges", Uint32Array);
    if (edges) {
      this.#wire = new LineBasicMaterial();
      this.#beads = dotMaterial(0);
      this.#add(new LineSegments(this.#sharing(edges), this.#wire));
      const beads = this.#sharing(null);
      beads.setDrawRange(0, this.#soft);
      this.#add(new Points(beads, this.#beads));
    }
    this.#pins = dotMaterial(2e-4);
    const pinned = array(message, "pinned", Uint32Array);
    if (pinned) this.#add(new Points(this.#sharing(pinned), this.#pins));
    this.#rings = dotMaterial(1e-3, 0.7);
    this.#held = changing(new Float32Array(3 * MOST_HELD), 3);
    const heldGeometry = new BufferGeometry().setAttribute("position", this.#held);
    heldGeometry.setDrawRange(0, 0);
    this.#heldPoints = new Points(heldGeometry, this.#rings);
    this.#add(this.#heldPoints);
  }

  /** Take the positions and colours of view `k` of a frame. */
  show(message: Message<FrameData>, k: number): void {
    const view = message.header.views[k];
    const packed = message.arrays[`positions${k}`];
    if (!(packed instanceof Uint16Array || packed instanceof Float32Array)) return;
    if (packed.length !== this.positions.length) return;
    decode(packed, view.low, view.scale, this.positions);
    this.#position.needsUpdate = true;
    if (packed instanceof Float32Array) this.box.setFromArray(packed);
    else {
      this.box.min.fromArray(view.low);
      this.box.max.fromArray(view.scale).multiplyScalar(STEPS).add(this.box.min);
    }
    if (this.triangles && this.#normal) {
      vertexNormals(this.positions, this.triangles, this.#normal.array as Float32Array);
      this.#normal.needsUpdate = true;
    }
    this.#colourBy = message.header.colour_by;
    this.#values = array(message, `values${k}`, Uint8Array);
    this.#paint();
    this.#hold(view.held, view.held_points);
  }

  /** Colours and sizes of marks; `pixel` is the size of a CSS pixel in those of the canvas. */
  dress(look: Look, theme: Theme, up: Vector3, key: Vector3, pixel: number): void {
    this.#theme = theme;
    for (const material of Object.values(this.#materials)) lighten(material, look, look.body, up, key);
    this.#wire?.color.copy(look.wire);
    if (this.#beads) this.#beads.uniforms.colour.value.copy(look.wire);
    if (this.#beads) this.#beads.uniforms.size.value = 3.5 * pixel;
    this.#pins.uniforms.colour.value.copy(look.pin);
    this.#pins.uniforms.size.value = 7 * pixel;
    this.#rings.uniforms.colour.value.copy(look.pointer);
    this.#rings.uniforms.size.value = 15 * pixel;
    this.#paint();
  }

  dispose(): void {
    for (const child of this.group.children) (child as Mesh).geometry.dispose();
    for (const material of [...Object.values(this.#materials), this.#wire, this.#beads, this.#pins, this.#rings]) {
      material?.dispose();
    }
  }

  #paint(): void {
    if (!this.#mesh) return;
    // Of soft vertices only: those of rigid bodies come after them and keep their colours.
    const amounts = this.#values && this.#values.length === this.#soft ? this.#values : null;
    const numbered = amounts !== null && this.#colourBy === "graph";
    const kind = numbered ? "flat" : amounts || this.#plain ? "smooth" : "plain";
    this.#mesh.material = this.#materials[kind];
    if (kind === "plain") return;
    const rgba = this.#tint.array as Uint8Array;
    if (this.#plain) {
      for (let k = 0, to = 0; k < this.#plain.length; k += 3, to += 4) {
        rgba[to] = this.#plain[k];
        rgba[to + 1] = this.#plain[k + 1];
        rgba[to + 2] = this.#plain[k + 2];
      }
    }
    if (amounts) colourise(amounts, numbered ? categoricalBytes() : rampBytes(this.#theme), rgba);
    this.#tint.needsUpdate = true;
  }

  #hold(vertices: number[], points: number[][]): void {
    const places = [...vertices.map((vertex) => this.positions.subarray(3 * vertex, 3 * vertex + 3)), ...points];
    const marks = Math.min(places.length, MOST_HELD);
    for (let k = 0; k < marks; k++) (this.#held.array as Float32Array).set(places[k], 3 * k);
    this.#held.needsUpdate = marks > 0;
    this.#heldPoints.geometry.setDrawRange(0, marks);
    this.#heldPoints.visible = marks > 0;
  }

  /** A geometry of the same positions: what is moved once moves everywhere. */
  #sharing(index: Uint32Array | null): BufferGeometry {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", this.#position);
    if (index) geometry.setIndex(new BufferAttribute(index, 1));
    return geometry;
  }

  #add(object: Mesh | LineSegments | Points): void {
    object.frustumCulled = false; // its bounds would have to be found anew for every frame
    this.group.add(object);
  }
}

function changing(values: Float32Array, size: number): BufferAttribute {
  return new BufferAttribute(values, size).setUsage(DynamicDrawUsage);
}
