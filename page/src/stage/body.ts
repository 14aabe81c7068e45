// The bodies of one view: a surface or wires, with marks at the vertices that are pinned or held.

import { Box3, BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, LineBasicMaterial, LineSegments, Mesh, Points, type ShaderMaterial } from "three";

import type { ColourBy, FrameData, SceneData } from "../messages";
import { array, type Message } from "../packing";
import { categoricalBytes, rampBytes, type Theme } from "./colours";
import { dotMaterial } from "./dots";
import { Elements } from "./elements";
import type { FabricLook } from "./fabrics";
import type { Caster } from "./heights";
import type { Light } from "./light";
import type { Look } from "./look";
import { paint, surfaceMaterial, weaveInto } from "./materials";
import type { Level } from "./quality";
import { colourise, decode, sharedOut, vertexNormals } from "./surface";
import { Wires } from "./wires";

const STEPS = 65535; // what the largest uint16 means
const MOST_HELD = 4096; // marks; a pointer that holds more shows these
const MANY = 600; // vertices that are dense enough to find light at them
const MANY_PINS = 24; // more are marked smaller: they stand close together
const FAR = 1e3; // m from a boundary that is not there

/** What the surface is painted with: its own colour, those of its vertices, amounts, or numbers. */
type Paint = "plain" | "own" | "amounts" | "numbers";

export interface Dress {
  look: Look;
  theme: Theme;
  fabric: FabricLook;
  level: Level;
  /** The size of a CSS pixel in those of the canvas. */
  pixel: number;
  wireframe: boolean;
  elements: boolean;
}

export class Body implements Caster {
  readonly group = new Group();
  readonly positions: Float32Array;
  /** Around the frame that is shown. */
  readonly box = new Box3();
  /** Null where there are only wires. */
  readonly triangles: Uint32Array | null;
  readonly uneven: boolean;
  /** Light at every vertex, of the key and of the sky. */
  readonly shade: BufferAttribute;
  readonly surface: BufferGeometry | null = null;
  readonly #light: Light;
  readonly #soft: number;
  readonly #position: BufferAttribute;
  readonly #normal: BufferAttribute | null = null;
  readonly #tint: BufferAttribute;
  readonly #plain: Uint8Array | null;
  readonly #tets: Uint32Array | null;
  readonly #clothSize: number;
  readonly #materials = new Map<string, ShaderMaterial>();
  readonly #mesh: Mesh | null = null;
  readonly #wire: LineBasicMaterial | null = null;
  readonly #beads: ShaderMaterial | null = null;
  readonly #pinned: number;
  readonly #pins: ShaderMaterial;
  readonly #rings: ShaderMaterial;
  readonly #held: BufferAttribute;
  readonly #heldPoints: Points;
  #wires: Wires | null = null;
  #elements: Elements | null = null;
  #values: Uint8Array | null = null;
  #colourBy: ColourBy = "plain";
  #dress: Dress | null = null;

  constructor(message: Message<SceneData>, light: Light) {
    const count = message.header.vertices;
    this.#light = light;
    this.uneven = message.header.soft < count;
    this.#soft = message.header.soft;
    this.positions = new Float32Array(3 * count);
    this.#position = changing(this.positions, 3);
    this.#tint = new BufferAttribute(new Uint8Array(4 * count), 4, true).setUsage(DynamicDrawUsage);
    this.shade = new BufferAttribute(new Uint8Array(2 * count).fill(255), 2, true).setUsage(DynamicDrawUsage);
    const triangles = array(message, "triangles", Uint32Array);
    this.triangles = triangles && sharedOut(triangles, count);
    this.#plain = array(message, "colours", Uint8Array);
    this.#tets = array(message, "tets", Uint32Array);
    const cloth = clothOf(message);
    this.#clothSize = cloth ? sizeOf(cloth) : 0;
    if (this.triangles) {
      this.#normal = changing(new Float32Array(3 * count), 3);
      this.surface = this.#sharing(this.triangles);
      this.surface.setAttribute("normal", this.#normal);
      this.surface.setAttribute("tint", this.#tint);
      this.surface.setAttribute("shade", this.shade);
      if (cloth) this.surface.setAttribute("cloth", new BufferAttribute(cloth, 3));
      this.#mesh = new Mesh(this.surface);
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
    this.#pinned = pinned?.length ?? 0;
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

  /** Colours, threads, and sizes of marks. */
  dress(dress: Dress): void {
    const { look, pixel } = dress;
    this.#dress = dress;
    for (const material of this.#materials.values()) this.#colour(material, dress);
    this.#wire?.color.copy(look.wire);
    if (this.#beads) this.#beads.uniforms.colour.value.copy(look.wire);
    if (this.#beads) this.#beads.uniforms.size.value = 3.5 * pixel;
    this.#pins.uniforms.colour.value.copy(look.pin);
    this.#pins.uniforms.size.value = (this.#pinned > MANY_PINS ? 4 : 7) * pixel;
    this.#rings.uniforms.colour.value.copy(look.pointer);
    this.#rings.uniforms.size.value = 15 * pixel;
    this.#open(dress);
    this.#paint();
  }

  dispose(): void {
    for (const child of this.group.children) (child as Mesh).geometry.dispose();
    this.#wires?.dispose();
    this.#elements?.dispose();
    for (const material of [...this.#materials.values(), this.#wire, this.#beads, this.#pins, this.#rings]) material?.dispose();
  }

  /** Lines over the surface, and elements instead of it. */
  #open({ wireframe, elements, look }: Dress): void {
    if (wireframe && this.triangles && !this.#wires) {
      this.#wires = new Wires(this.#position, this.triangles);
      this.#add(this.#wires.lines);
    }
    if (elements && this.#tets && !this.#elements) {
      this.#elements = new Elements(this.#light, this.#tets, this.positions, this.#tint.array as Uint8Array);
      this.#add(this.#elements.mesh);
    }
    if (this.#wires) this.#wires.lines.visible = wireframe;
    if (this.#elements) this.#elements.mesh.visible = elements;
    // Rigid bodies are in the same surface, so it stays where there are any.
    if (this.#mesh) this.#mesh.visible = !(elements && this.#elements) || this.uneven;
    this.#wires?.dress(look.lines);
    this.#elements?.dress(look.body);
  }

  #paint(): void {
    const dress = this.#dress;
    if (!this.#mesh || !dress) return;
    // Of soft vertices only: those of rigid bodies come after them and keep their colours.
    const amounts = this.#values && this.#values.length === this.#soft ? this.#values : null;
    const numbered = amounts !== null && this.#colourBy === "graph";
    const kind: Paint = numbered ? "numbers" : amounts ? "amounts" : this.#plain ? "own" : "plain";
    this.#mesh.material = this.#material(kind, dress);
    if (kind !== "plain") {
      const rgba = this.#tint.array as Uint8Array;
      if (this.#plain) {
        for (let k = 0, to = 0; k < this.#plain.length; k += 3, to += 4) {
          rgba[to] = this.#plain[k];
          rgba[to + 1] = this.#plain[k + 1];
          rgba[to + 2] = this.#plain[k + 2];
        }
      }
      if (amounts) colourise(amounts, numbered ? categoricalBytes() : rampBytes(dress.theme), rgba);
      this.#tint.needsUpdate = true;
    }
    if (dress.elements) this.#elements?.show(kind === "plain" ? null : (this.#tint.array as Uint8Array));
  }

  #material(kind: Paint, dress: Dress): ShaderMaterial {
    const { fine, threads } = dress.level;
    const cloth = this.#clothSize > 0 && threads && (kind === "plain" || kind === "own");
    const name = `${kind} ${fine} ${cloth}`;
    const known = this.#materials.get(name);
    if (known) return known;
    const material = surfaceMaterial(this.#light, {
      fine,
      cloth,
      coloured: kind === "plain" ? undefined : kind === "numbers" ? "flat" : "smooth",
      twoSided: true,
      dense: !this.uneven && this.#soft > MANY,
      calm: kind === "amounts" || kind === "numbers",
    });
    this.#materials.set(name, material);
    this.#colour(material, dress);
    return material;
  }

  #colour(material: ShaderMaterial, { look, theme, fabric }: Dress): void {
    const cloth = this.#clothSize > 0;
    paint(material, cloth ? fabric.colour[theme] : look.body);
    if (cloth) weaveInto(material, fabric, fabric.second[theme], this.#clothSize, this.#plain !== null);
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

/** Two coordinates and the distance from the boundary for every vertex; what is not woven is the middle of a thread. */
function clothOf(message: Message<SceneData>): Float32Array | null {
  const given = array(message, "cloth", Float32Array);
  const { vertices, soft } = message.header;
  if (!given || given.length !== 4 * soft) return null;
  const all = new Float32Array(3 * vertices);
  for (let k = 0; k < vertices; k++) all[3 * k + 2] = k < soft ? given[4 * k + 2] : FAR;
  for (let k = 0; k < soft; k++) if (given[4 * k + 3]) all.set(given.subarray(4 * k, 4 * k + 2), 3 * k);
  return all;
}

/** How wide a cloth is (m), or, where it is not flat, twice as far as one gets from its boundary. */
function sizeOf(cloth: Float32Array): number {
  let low = Infinity, high = -Infinity, inside = 0;
  for (let k = 0; k < cloth.length; k += 3) {
    low = Math.min(low, cloth[k]);
    high = Math.max(high, cloth[k]);
    if (cloth[k + 2] < FAR) inside = Math.max(inside, cloth[k + 2]);
  }
  return Math.max(high - low, 2 * inside);
}
