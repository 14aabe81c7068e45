// Links: what is written is read again, and what others may have written does no harm.

import assert from "node:assert/strict";
import { test } from "node:test";

import { read, write } from "../src/link";
import type { Settings } from "../src/messages";

const SETTINGS = {
  solver: "auto",
  compare: "",
  relaxation: null,
  budget_ms: 8,
  iterations: null,
  stiffness: 1,
  time_step: 1 / 30,
  gravity: 9.81,
  wind: 3.25,
  wind_heading: 90,
  grab_radius: 0,
  paused: true,
  colour_by: "strain",
} as unknown as Settings;
const CAMERA = { eye: [1.5, -2.25, 1e-7], target: [0, 0.1, 0] };

test("what is written is read again", () => {
  const said = read(`#${write("hanging-cloth", SETTINGS, CAMERA, null)}`);
  if (!said) throw new Error("nothing was read");
  assert.equal(said.restore.scene, "hanging-cloth");
  const { settings } = said.restore;
  assert.equal(settings.gravity, 9.81);
  assert.equal(settings.colour_by, "strain");
  assert.equal(Math.abs((settings.time_step ?? 0) - 1 / 30) < 1e-6, true);
  assert.equal(settings.paused, undefined); // motion is not restored
  assert.equal(settings.relaxation, undefined);
  assert.deepEqual(said.camera?.eye, [1.5, -2.25, 1e-7]);
});

test("the key is in it only if asked for", () => {
  assert.equal(!write("a", SETTINGS, CAMERA, null).includes("token"), true);
  assert.equal(write("a", SETTINGS, CAMERA, "secret").includes("token=secret"), true);
});

test("the key is no setting, and an address without a scene asks for nothing", () => {
  assert.equal(read("#token=abc"), null);
  assert.equal(read(""), null);
  const said = read("#token=abc&scene=bar");
  assert.deepEqual(said?.restore.settings, {});
});

test("strange values are left to the server, and strange names and places are not taken", () => {
  const said = read("#scene=bar&gravity=lots&wind=&__proto__=1&Evil-Key=2&eye=1,2&target=1,2,3");
  assert.equal(said?.restore.settings.gravity, "lots");
  assert.deepEqual(Object.keys(said?.restore.settings ?? {}).sort(), ["gravity", "wind"]);
  assert.equal(said?.camera, null);
  assert.equal(read("#scene=bar&eye=1,2,3&target=1,2,1e99")?.camera, null);
  assert.equal(read(`#scene=${"x".repeat(500)}`), null);
});

test("pins, cuts and the resolution go along, in parts that a message has room for", () => {
  const edits = `1600_c${"12-13.".repeat(900)}44-45_p0-39`;
  const said = read(`#${write("tablecloth", SETTINGS, CAMERA, null, { resolution: 40, edits })}`);
  if (!said) throw new Error("nothing was read");
  assert.equal(said.parts.map(({ text }) => text).join(""), edits);
  assert.deepEqual(said.parts.map(({ first }) => first), [true, false]);
  assert.equal(said.restore.resolution, 40);
  assert.equal(said.restore.edited, true);
  const plain = read(`#${write("tablecloth", SETTINGS, CAMERA, null)}`);
  assert.equal(plain?.restore.edited, false);
  assert.equal(plain?.restore.resolution, null);
});
