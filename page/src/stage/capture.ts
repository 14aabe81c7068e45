// A film of what one sees, made by the browser from the canvas: as many frames as are drawn, as sharp as they are.

import { signal } from "@preact/signals";

import { notify, scene } from "../store";

const RATE = 60; // frames a second at most
const BITS = 12e6; // a second
const SLICE = 500; // ms between two looks at how much there is
const MOST = 1 << 30; // bytes
const KINDS = ["video/mp4;codecs=avc1.640028", "video/mp4", "video/webm;codecs=vp9", "video/webm"];

export interface Captured {
  seconds: number;
  bytes: number;
}

/** Null while nothing is recorded. */
export const captured = signal<Captured | null>(null);

/** What this browser can make; null where it can make none. */
export function kind(): string | null {
  if (typeof MediaRecorder === "undefined" || !HTMLCanvasElement.prototype.captureStream) return null;
  return KINDS.find((one) => MediaRecorder.isTypeSupported(one)) ?? null;
}

let recorder: MediaRecorder | null = null;

export function toggleCapture(): void {
  if (recorder) recorder.stop();
  else start();
}

function start(): void {
  const canvas = document.querySelector<HTMLCanvasElement>("canvas#view");
  const type = kind();
  if (!canvas || !type) return notify("error", "This browser cannot record the view; record with the server instead.");
  const chunks: Blob[] = [];
  const begun = performance.now();
  const stream = canvas.captureStream(RATE);
  const own = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: BITS });
  own.ondataavailable = ({ data }) => {
    if (data.size) chunks.push(data);
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.size, 0);
    if (captured.value) captured.value = { seconds: (performance.now() - begun) / 1000, bytes };
    if (bytes > MOST && own.state === "recording") own.stop();
  };
  own.onerror = () => notify("error", "The browser gave up recording the view.");
  own.onstop = () => {
    recorder = null;
    captured.value = null;
    stream.getTracks().forEach((track) => track.stop());
    save(new Blob(chunks, { type }), type.includes("mp4") ? "mp4" : "webm");
  };
  recorder = own;
  captured.value = { seconds: 0, bytes: 0 };
  own.start(SLICE);
}

function save(film: Blob, suffix: string): void {
  if (!film.size) return notify("error", "Nothing was drawn while the view was recorded.");
  const time = new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-");
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(film);
  anchor.download = `vivace-${scene.value?.name ?? "view"}-${time}.${suffix}`;
  anchor.click();
  window.setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}
