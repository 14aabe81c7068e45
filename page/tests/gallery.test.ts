import assert from "node:assert/strict";
import { test } from "node:test";

import { GROUPS, grouped, titleOf } from "../src/panel/gallery/scenes";

const choice = (name: string) => ({ name, summary: "" });

test("scenes are grouped, and what nobody grouped comes first as one's own", () => {
  const found = grouped([choice("cube"), choice("my shirt"), choice("tablecloth")]);
  assert.deepEqual(
    found.map(([title, scenes]) => [title, scenes.map((one) => one.name)]),
    [
      ["Yours", ["my shirt"]],
      ["Cloth", ["tablecloth"]],
      ["Soft bodies", ["cube"]],
    ],
  );
});

test("no scene is in two groups", () => {
  const names = GROUPS.flatMap(([, some]) => some);
  assert.equal(new Set(names).size, names.length);
});

test("titles are words", () => {
  assert.equal(titleOf("house-of-cards"), "house of cards");
  assert.equal(titleOf("s0"), "cloth on a tube");
});
