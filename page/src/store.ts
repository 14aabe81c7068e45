// What the page knows, as signals: the connection and the stage write, the panel reads; the panel asks through `send`
// and `stageActions`.

import { signal } from "@preact/signals";

import type { FrameData, FromPage, GhostState, Hello, Notice, Progress, SceneData, Starting, State } from "./messages";

export type Link = "connecting" | "open" | "lost" | "refused";

/** How the page itself is doing: frames drawn a second, and ms from a pointer's move to the frame that shows it. */
export interface Pace {
  fps: number;
  latency: number | null;
}

export const link = signal<Link>("connecting");
/** Why the server does not let us in, and whether it did before. */
export const refusal = signal<{ why: string; before: boolean }>({ why: "", before: false });
/** How far the ghost of the converged motion is. */
export const ghost = signal<GhostState | null>(null);
/** What is being done before there is a simulation. */
export const starting = signal<Starting | null>(null);
export const hello = signal<Hello | null>(null);
export const state = signal<State | null>(null);
/** Pins and cuts beside the scene's own, as letters for a link. */
export const edited = signal("");
export const scene = signal<SceneData | null>(null);
/** The header of the frame that was drawn last. */
export const frame = signal<FrameData | null>(null);
export const pace = signal<Pace>({ fps: 0, latency: null });
export const notices = signal<(Notice & { id: number })[]>([]);
/** Of a file that is being made. */
export const progress = signal<Progress | null>(null);
export const theme = signal<"light" | "dark">("light");

/** What somebody who grabs by keyboard is told; "" when there is nothing to say. */
export const handSays = signal("");

/** Things the stage does for the panel; it sets them when it is there. */
export const stageActions = {
  /** Download what is seen as PNG. */
  still: (): void => {},
  /** Back to the scene's own view. */
  home: (): void => {},
  /** See all of the bodies, from where one looks now. */
  fit: (): void => {},
  /** What a pointer held has slipped out of the hand. */
  slipped: (_pointer: number): void => {},
  /** From somewhere else. */
  look: (_eye: number[], _target: number[]): void => {},
  /** From where the person looks. */
  camera: (): { eye: number[]; target: number[] } => ({ eye: [0, 0, 1], target: [0, 0, 0] }),
};

/** What the connection does for the panel. */
export const connectionActions = {
  /** Try once more, after a refusal. */
  again: (): void => {},
};

let transmit: (message: FromPage) => void = () => {};

/** The connection says here how to send. */
export function sendWith(how: (message: FromPage) => void): void {
  transmit = how;
}

/** Say something to the server; lost when there is no connection. */
export function send(message: FromPage): void {
  transmit(message);
}

let notified = 0;

/** Tell the person something; it goes by itself. */
export function notify(level: Notice["level"], text: string): void {
  const id = ++notified;
  notices.value = [...notices.value.slice(-2), { type: "notice", level, text, id }];
  window.setTimeout(() => dismiss(id), level === "error" ? 9000 : 5000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
