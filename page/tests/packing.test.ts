// Binary messages as Python wrote them (tests/viewer/packed_examples.py): every byte is read, and means what it meant.

import assert from "node:assert/strict";
import { test } from "node:test";

import { array, isScene, unpack, type Packed } from "../src/packing";
import { decode } from "../src/stage/surface";
import examples from "./packed.json";

interface Example {
  message: string;
  header: object;
  arrays: Record<string, { dtype: string; values: number[] }>;
}

const KINDS: Record<string, { name: string }> = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array,
};

/** The bytes of a message in a buffer of their own, as a socket delivers them. */
function received(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text, "base64")).buffer;
}

/** The message again: length and header as they were, then the arrays, each from a multiple of four bytes. */
function laidOut(buffer: ArrayBuffer, arrays: Packed[]): Uint8Array {
  const head = 4 + new DataView(buffer).getUint32(0, true);
  const parts = [new Uint8Array(buffer.slice(0, head))];
  for (const { buffer: whole, byteOffset, byteLength } of arrays) {
    const padded = new Uint8Array(4 * Math.ceil(byteLength / 4));
    padded.set(new Uint8Array(whole, byteOffset, byteLength));
    parts.push(padded);
  }
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

for (const [name, example] of Object.entries<Example>(examples)) {
  test(`${name}: header and arrays are those that Python packed`, () => {
    const { header, arrays } = unpack(received(example.message));
    const { arrays: specs, ...rest } = header;
    assert.deepEqual(rest, example.header);
    assert.deepEqual(Object.keys(arrays), Object.keys(example.arrays));
    for (const [key, { dtype, values }] of Object.entries(example.arrays)) {
      assert.equal(arrays[key].constructor.name, KINDS[dtype].name, key);
      assert.deepEqual([...arrays[key]], values, key); // -0 is not 0 here
      assert.equal(specs[key].length, values.length);
    }
  });

  test(`${name}: laid out again it is the same message, byte for byte`, () => {
    const buffer = received(example.message);
    const { arrays } = unpack(buffer);
    assert.deepEqual(laidOut(buffer, Object.values(arrays)), new Uint8Array(buffer));
  });

  test(`${name}: a message that lost its end is refused`, () => {
    const buffer = received(example.message);
    assert.throws(() => unpack(buffer.slice(0, buffer.byteLength - 4)), RangeError);
  });
}

test("arrays look into the message, nothing is copied", () => {
  const buffer = received(examples.scene.message);
  for (const one of Object.values(unpack(buffer).arrays)) assert(one.buffer === buffer);
});

test("scenes are told from frames", () => {
  assert(isScene(unpack(received(examples.scene.message))));
  assert(!isScene(unpack(received(examples.frame16.message))));
});

test("an array is found by its name and kind, and an empty one is none", () => {
  const message = unpack(received(examples.scene.message));
  assert.equal(array(message, "triangles", Uint32Array)?.length, 8);
  assert.equal(array(message, "triangles", Float32Array), null);
  assert.equal(array(message, "edges", Uint32Array), null);
  assert.equal(array(message, "nothing", Uint32Array), null);
});

test("16 bits of a coordinate are within half a step of it", () => {
  const { header, arrays } = unpack(received(examples.frame16.message));
  assert(header.type === "frame" && arrays.positions0 instanceof Uint16Array);
  const { low, scale } = header.views[0];
  const seen = new Float32Array(arrays.positions0.length);
  decode(arrays.positions0, low, scale, seen);
  for (const [k, wanted] of examples.frame16.positions.entries()) {
    const rounding = 2 ** -22 * Math.max(1, Math.abs(wanted)); // of float32, on the way there and back
    assert(Math.abs(seen[k] - wanted) <= scale[k % 3] / 2 + rounding, `coordinate ${k}: ${seen[k]}, not ${wanted}`);
  }
  // The box's own corners are steps 0 and 65,535.
  const axis = (k: number) => [...arrays.positions0].filter((_, at) => at % 3 === k);
  for (const k of [0, 1, 2]) assert.deepEqual([Math.min(...axis(k)), Math.max(...axis(k))], [0, 65535]);
});

test("32 bits of a coordinate are the coordinate", () => {
  const { header, arrays } = unpack(received(examples.frame32.message));
  assert(header.type === "frame" && arrays.positions0 instanceof Float32Array);
  const seen = new Float32Array(arrays.positions0.length);
  decode(arrays.positions0, header.views[0].low, header.views[0].scale, seen);
  assert.deepEqual([...seen], examples.frame16.positions);
});
