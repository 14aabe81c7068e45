// What is simulated, and what of it people change first: first in the panel and always open.

import { hello, scene, send, state } from "../store";
import { Difference } from "./difference";
import { Select } from "./fields";
import { sentence } from "./format";
import { openGallery } from "./gallery/open";
import { Gallery } from "./icons";
import { Material } from "./material";
import { Forces } from "./world";

function Scenes() {
  const scenes = hello.value?.scenes ?? [];
  const name = state.value?.scene ?? "";
  const summary = scenes.find((one) => one.name === name)?.summary ?? "";
  const size = scene.value?.name === name ? scene.value.summary : "";
  return (
    <div class="scene-row">
      <Select
        id="scene"
        label="Scene"
        told={name}
        options={scenes.map((one) => ({ value: one.name, text: one.name }))}
        hint={[sentence(summary), sentence(size)].filter(Boolean).join(" ")}
        ask={(value) => send({ type: "load_scene", name: value })}
      />
      <button type="button" id="gallery_open" onClick={openGallery} title="Scenes, fabrics, your own mesh (G)">
        <Gallery /> Gallery
      </button>
    </div>
  );
}

export function SceneSection() {
  return (
    <section class="section" aria-labelledby="scene-title">
      <h2 id="scene-title" class="visually-hidden">
        Scene and material
      </h2>
      <div class="section-body first">
        <Scenes />
        <Material />
        <Forces />
        <Difference />
      </div>
    </section>
  );
}
