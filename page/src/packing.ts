// Binary messages: a header and arrays, as src/vivace/viewer/packing.py writes them.

import type { ArraySpec, FrameData, SceneData } from "./messages";

export type Packed = Uint8Array | Uint16Array | Uint32Array | Float32Array;

export interface Message<Header> {
  header: Header;
  arrays: Record<string, Packed>;
}

const KINDS = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array } as const;

/** The arrays look into `buffer`: nothing is copied. */
export function unpack(buffer: ArrayBuffer): Message<SceneData> | Message<FrameData> {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as SceneData | FrameData;
  const arrays: Record<string, Packed> = {};
  for (const [name, spec] of Object.entries<ArraySpec>(header.arrays)) {
    arrays[name] = new KINDS[spec.dtype](buffer, 4 + length + spec.offset, spec.length);
  }
  return { header, arrays } as Message<SceneData> | Message<FrameData>;
}

export function isScene(message: Message<SceneData> | Message<FrameData>): message is Message<SceneData> {
  return message.header.type === "scene";
}

/** The named array if it is there and has anything in it. */
export function array<Kind extends Packed>(
  message: Message<SceneData> | Message<FrameData>,
  name: string,
  kind: new (length: number) => Kind,
): Kind | null {
  const found = message.arrays[name];
  return found instanceof kind && found.length ? found : null;
}
