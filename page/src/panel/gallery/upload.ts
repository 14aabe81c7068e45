// A mesh of one's own goes to the server as bytes, over a socket of its own, in messages as short as all others.

import { computed, signal } from "@preact/signals";

import { beside } from "../../connection";
import { hello, notify } from "../../store";

const PART = 4096; // bytes of a message, as LONGEST in settings.py
const AHEAD = 1 << 20; // bytes that may wait in the browser
const PAUSE = 20; // ms
export const MOST_MB = 64; // as MOST_BYTES in uploads.py, which has the last word

/** What is on its way: its name, and the share of it that has left. */
export const sending = signal<{ name: string; share: number } | null>(null);
/** The last thing that went wrong, as a sentence. */
export const trouble = signal("");
export const endings = computed(() => hello.value?.uploads ?? []);

const pause = (): Promise<void> => new Promise((done) => window.setTimeout(done, PAUSE));

function ending(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot < 0 ? "" : name.slice(dot).toLowerCase();
}

/** Why a file is not worth sending; "" if it is. The server looks again. */
export function whyNot(name: string, size: number, known: readonly string[]): string {
  const kinds = known.map((one) => one.slice(1).toUpperCase()).join(", ");
  if (!known.includes(ending(name))) return `Meshes are read from ${kinds}; ${name} is none of these.`;
  if (size === 0) return `${name} is empty.`;
  if (size > MOST_MB << 20) return `${name} has ${Math.round(size / (1 << 20))} MB, and ${MOST_MB} MB is the most.`;
  return "";
}

async function transmit(file: File, thrown: boolean): Promise<string> {
  const address = beside("upload");
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  let answer: string | null = null;
  const opened = new Promise<boolean>((done) => {
    socket.onopen = () => done(true);
    socket.onclose = () => done(false);
  });
  if (!(await opened)) return "The server did not take it. Is vivace view still running?";
  const closed = new Promise<void>((done) => (socket.onclose = () => done()));
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    answer = (JSON.parse(data) as { error: string }).error;
  };
  const { name, size } = file;
  socket.send(JSON.stringify({ name, size, thrown }));
  const bytes = await file.arrayBuffer();
  for (let at = 0; at < size && answer === null && socket.readyState === WebSocket.OPEN; at += PART) {
    socket.send(bytes.slice(at, at + PART));
    if (socket.bufferedAmount > AHEAD) {
      sending.value = { name, share: at / size };
      while (socket.bufferedAmount > AHEAD / 2 && socket.readyState === WebSocket.OPEN) await pause();
    }
  }
  sending.value = { name, share: 1 };
  await closed;
  return answer ?? "The connection was lost before the file was there.";
}

/**
 * Send a file, to be a scene or, `thrown`, a rigid body in the scene that runs; whether the server took it. What goes wrong is told
 * in a sentence.
 */
export async function upload(file: File, thrown = false): Promise<boolean> {
  if (sending.peek()) return false;
  trouble.value = whyNot(file.name, file.size, endings.peek());
  if (trouble.peek()) return false;
  sending.value = { name: file.name, share: 0 };
  try {
    trouble.value = await transmit(file, thrown);
  } catch {
    trouble.value = "The file could not be read by the browser.";
  } finally {
    sending.value = null;
  }
  if (trouble.peek()) notify("error", trouble.peek());
  return !trouble.peek();
}
