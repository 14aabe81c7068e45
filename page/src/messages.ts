// Made from src/vivace/viewer/messages/ by `python -m vivace.viewer.typescript`: change it there.

export type AddedShape = "ball" | "box" | "capsule";

export const ADDED_SHAPE: readonly AddedShape[] = ["ball", "box", "capsule"];

export type BodyKind = "soft" | "rigid";

export const BODY_KIND: readonly BodyKind[] = ["soft", "rigid"];

export type ColourBy = "plain" | "strain" | "velocity" | "graph" | "contact" | "residual" | "conversion";

export const COLOUR_BY: readonly ColourBy[] = ["plain", "strain", "velocity", "graph", "contact", "residual", "conversion"];

export type GhostPhase = "off" | "watching" | "computing" | "showing";

export const GHOST_PHASE: readonly GhostPhase[] = ["off", "watching", "computing", "showing"];

export type MeshKind = "jelly" | "shell" | "cloth";

export const MESH_KIND: readonly MeshKind[] = ["jelly", "shell", "cloth"];

export type PinRule = "top" | "corners" | "none" | "scene";

export const PIN_RULE: readonly PinRule[] = ["top", "corners", "none", "scene"];

/** `offset` in bytes from the end of the header, a multiple of four; `length` in elements. */
export interface ArraySpec {
  dtype: "uint8" | "uint16" | "uint32" | "float32";
  offset: number;
  length: number;
}

/** From where the page looks: positions (m) and the vertical angle of view. */
export interface CameraView {
  eye: number[];
  target: number[];
  up: number[];
  fov_degrees: number;
}

/** A frame. */
export interface FrameData {
  type: "frame";
  frame: number;
  scene: number;
  time: number;
  speed: number;
  slow: string;
  colour_by: ColourBy;
  orders: Record<string, number>;
  views: ViewData[];
  things: number[][];
  ghost: GhostView | null;
  arrays: Record<string, ArraySpec>;
}

/** The ghost in a frame: array "ghost" has its positions, low + scale * value; distances of the live body (m). */
export interface GhostView {
  frame: number;
  frames: number;
  seconds: number;
  rms: number;
  largest: number;
  low: number[];
  scale: number[];
}

/** What stays the same from frame to frame. */
export interface SceneData {
  type: "scene";
  scene: number;
  name: string;
  summary: string;
  bodies: BodyKind;
  vertices: number;
  soft: number;
  camera: CameraView;
  ground: number | null;
  arrays: Record<string, ArraySpec>;
}

/** One simulation of a frame: the left, and in a split view the right. */
export interface ViewData {
  solver: string;
  used: string;
  frames: number;
  sweeps: number;
  residual: number;
  residuals: number[][];
  stages: ([string, number])[];
  ms: number;
  budget_ms: number | null;
  colours: number | null;
  contacts: number;
  corrected: number;
  note: string;
  stretch: number[];
  low: number[];
  scale: number[];
  values: number[];
  unit: string;
  held: number[];
  held_points: number[][];
  depth: number | null;
}

/** Throw a rigid body into a scene of soft ones; it goes when the scene starts again. */
export interface AddBody {
  type: "add_body";
  shape: AddedShape;
}

/** Make no file after all. */
export interface Cancel {
  type: "cancel";
}

/** Change the settings that are given; the others stay. */
export interface Change {
  type: "change";
  solver?: string | null;
  compare?: string | null;
  relaxation?: number | null;
  budget_ms?: number | null;
  iterations?: number | null;
  fabric?: string | null;
  self_contact?: boolean | null;
  stiffness?: number | null;
  time_step?: number | null;
  gravity?: number | null;
  wind?: number | null;
  wind_heading?: number | null;
  grab_radius?: number | null;
  hand_force?: number | null;
  paused?: boolean | null;
  colour_by?: ColourBy | null;
}

/** Cut what is seen from `eye` along a stroke through points; how far away they are does not matter. */
export interface Cut {
  type: "cut";
  eye: number[];
  stroke: number[][];
  scene: number;
}

/** Move what `pointer` holds to `target`. */
export interface Drag {
  type: "drag";
  pointer: number;
  target: number[];
  order: number;
}

/** The page has drawn this frame and can take the next. */
export interface Drawn {
  type: "drawn";
  frame: number;
}

/** Hold `vertex` of the scene at `target`; `pointer` tells fingers apart, `order` counts the page's pulls. */
export interface Grab {
  type: "grab";
  pointer: number;
  vertex: number;
  target: number[];
  scene: number;
  order: number;
  corners?: number[] | null;
  weights?: number[] | null;
  thing?: number | null;
}

/** Take back the last change of settings, pins or cuts, or make it again. */
export interface History {
  type: "history";
  what: "undo" | "redo";
}

/** Another scene by its name, one of `Hello.scenes`. */
export interface LoadScene {
  type: "load_scene";
  name: string;
}

/** Pin vertices of the scene where they are now, or let them go; pins of one `edit` are taken back together. */
export interface Pin {
  type: "pin";
  vertices: number[];
  on: boolean;
  scene: number;
  edit: number;
}

/** Pin by a rule, and nothing else: `top` edge, `corners`, `none`, or what the `scene` itself pins. */
export interface PinBy {
  type: "pin_by";
  rule: PinRule;
}

/** Let go of what `pointer` holds; it keeps its velocity. */
export interface Release {
  type: "release";
  pointer: number;
  order: number;
}

/** Make the scene anew with the settings as they are: finer or coarser, or one's own mesh as something else. */
export interface Remake {
  type: "remake";
  resolution?: number | null;
  kind?: MeshKind | null;
}

/** Show a frame of the recording instead of the simulation; none: the simulation again. */
export interface Replay {
  type: "replay";
  frame: number | null;
  resume?: boolean;
}

/** What a link says: a scene by its name, and settings to change when it is there. */
export interface Restore {
  type: "restore";
  scene: string;
  settings: Change;
  resolution?: number | null;
  edited?: boolean;
}

/** A part of a link's pins and cuts, in order; `first` forgets what came before. */
export interface RestorePart {
  type: "restore_part";
  text: string;
  first: boolean;
}

/** `step`: one step, while paused. `reset`: the scene from its start, with the settings as they are. */
export interface Run {
  type: "run";
  what: "step" | "reset";
}

/** Make a file to download, in one of the formats of `Hello`; a scene is always TOML. */
export interface Save {
  type: "save";
  what: "recording" | "scene" | "pose";
  format?: string;
  eye?: number[] | null;
  target?: number[] | null;
}

/** Compute how the body would move from now on if every step were converged, and show it beside what it did. */
export interface SetGhost {
  type: "set_ghost";
  on: boolean;
}

/** Begin a recording, or end it. */
export interface SetRecording {
  type: "set_recording";
  on: boolean;
}

/** What the simulation runs with now. */
export interface Settings {
  solver: string;
  compare: string;
  relaxation: number | null;
  budget_ms: number;
  iterations: number | null;
  fabric: string;
  self_contact: boolean;
  stiffness: number;
  time_step: number;
  gravity: number;
  wind: number;
  wind_heading: number;
  grab_radius: number;
  hand_force: number;
  paused: boolean;
  colour_by: ColourBy;
}

/** A file is ready at `path` (on this server, with the token). */
export interface Download {
  type: "download";
  path: string;
  name: string;
}

/** Pins and cuts that there are now beside the scene's own, as letters for a link; "" for none. */
export interface Edited {
  type: "edited";
  text: string;
}

/** A fabric that the page offers: kg/m², N/m, N m, 1/s and m. */
export interface FabricChoice {
  name: string;
  summary: string;
  density: number;
  stretch: number;
  bend: number;
  friction: number;
  damping: number;
  thickness: number;
}

/** A format of files that can be made. */
export interface FormatChoice {
  name: string;
  title: string;
}

/** How far the ghost is. */
export interface GhostState {
  type: "ghost";
  phase: GhostPhase;
  text: string;
  done: number;
  total: number;
  distances: number[][];
}

/** The first message. `client`: this page's key in `FrameData.orders`. */
export interface Hello {
  type: "hello";
  version: string;
  client: string;
  solvers: SolverChoice[];
  contact_solvers: SolverChoice[];
  scenes: SceneChoice[];
  fabrics: FabricChoice[];
  gallery: boolean;
  uploads: string[];
  recording_formats: FormatChoice[];
  pose_formats: FormatChoice[];
}

/** Something to tell the person. */
export interface Notice {
  type: "notice";
  level: "info" | "error";
  text: string;
}

/** How far a file is: at once, at least once a second, and with `total` 0 when there is none any more. */
export interface Progress {
  type: "progress";
  label: string;
  done: number;
  total: number;
  seconds_left: number | null;
}

/** A scene that the page offers. */
export interface SceneChoice {
  name: string;
  summary: string;
}

/** What `pointer` of this page held has slipped out of the hand; `text` says why. */
export interface Slipped {
  type: "slipped";
  pointer: number;
  text: string;
}

/** `relaxation`: its default ω, None where there is none to set; `most_relaxation`: the largest that is stable. */
export interface SolverChoice {
  name: string;
  summary: string;
  relaxation: number | null;
  most_relaxation: number | null;
}

/** Before there is a simulation: what is being done. `done` of about `total` parts; None where nobody knows. */
export interface Starting {
  type: "starting";
  text: string;
  done?: number | null;
  total?: number | null;
  failed?: boolean;
}

/** After every change. */
export interface State {
  type: "state";
  scene: string;
  bodies: BodyKind;
  settings: Settings;
  controls: string[];
  solvers: string[];
  colourings: ColourBy[];
  resolution: number[];
  kind: MeshKind | "";
  kinds: MeshKind[];
  busy: string;
  recording: boolean;
  recorded_frames: number;
  recorded_seconds: number;
  pins: number;
  undo: string;
  redo: string;
  replay: number | null;
}

export type FromPage = Grab | Drag | Release | Change | Run | LoadScene | Remake | AddBody | SetRecording | Save | Cancel | SetGhost | Pin | PinBy | Cut | History | Replay | Restore | RestorePart | Drawn;

export type ToPage = Hello | State | Edited | Starting | Notice | Slipped | Progress | Download | GhostState;

/** The smallest and the largest value of each setting. */
export const RANGES = {
  relaxation: [0.05, 1.99],
  budget_ms: [1, 33],
  iterations: [1, 300],
  stiffness: [0.01, 100],
  time_step: [0.004166666666666667, 0.06666666666666667],
  gravity: [-20, 20],
  wind: [0, 20],
  wind_heading: [0, 360],
  grab_radius: [0, 0.3],
  hand_force: [0.1, 2000],
} as const;
