// What an artist reaches for first: what the body is made of, whether it touches itself, and how fine it is.

import type { FabricChoice, MeshKind } from "../messages";
import { hello, send, state } from "../store";
import { Select, Slider, Switch } from "./fields";
import { THIN, fixed, sentence, short } from "./format";
import { change, has, settings } from "./settings";

const KIND_NAMES: Record<MeshKind, string> = { jelly: "Jelly, filled", shell: "Shell, a thin wall", cloth: "Cloth" };
const KIND_HINTS: Record<MeshKind, string> = {
  jelly: "The surface is filled with tetrahedra.",
  shell: "Hollow, with a wall that keeps its curvature.",
  cloth: "A sheet that bends freely: what is closed collapses, what is open hangs by its upper rim.",
};

/** The values of a fabric, with their units. */
export function values(fabric: FabricChoice): string {
  const grams = `${fixed(1000 * fabric.density, 0)}${THIN}g/m²`;
  const stretch = `${short(fabric.stretch / 1000)}${THIN}kN/m`;
  const bend = `${short(1e6 * fabric.bend)}${THIN}µN${THIN}m`;
  const thick = `${short(1000 * fabric.thickness)}${THIN}mm`;
  return `${grams}, stretch ${stretch}, bend ${bend}, friction ${fixed(fabric.friction, 2)}, damping ${short(fabric.damping)}/s, ${thick} thick.`;
}

function Fabric() {
  const now = settings.value;
  const fabrics = hello.value?.fabrics ?? [];
  if (!now) return null;
  const chosen = fabrics.find((one) => one.name === now.fabric);
  return (
    <Select
      id="fabric"
      label="Fabric"
      told={now.fabric}
      options={[{ value: "", text: "as the scene has it" }, ...fabrics.map(({ name }) => ({ value: name, text: name }))]}
      hint={chosen ? `${sentence(chosen.summary)} ${values(chosen)}` : undefined}
      ask={(value) => change("fabric", value)}
    />
  );
}

function Kind() {
  const now = state.value;
  if (!now || now.kind === "") return null;
  return (
    <Select
      id="kind"
      label="Made as"
      told={now.kind}
      options={now.kinds.map((kind) => ({ value: kind, text: KIND_NAMES[kind] }))}
      hint={KIND_HINTS[now.kind]}
      ask={(value) => send({ type: "remake", kind: value as MeshKind })}
    />
  );
}

function Resolution() {
  const [now, least, most] = state.value?.resolution ?? [];
  if (now === undefined || least === undefined || most === undefined) return null;
  return (
    <Slider
      id="resolution"
      label="Resolution"
      told={now}
      min={least}
      max={most}
      step={1}
      text={(value) => [fixed(value, 0), ""]}
      hint="The scene starts again, with the settings as they are."
      ask={() => {}}
      settle={(value) => send({ type: "remake", resolution: Math.round(value) })}
    />
  );
}

export function Material() {
  const now = settings.value;
  if (!now) return null;
  return (
    <>
      <Kind />
      {has("fabric") && <Fabric />}
      {has("self_contact") && (
        <Switch
          id="self_contact"
          label="Touches itself"
          told={now.self_contact}
          hint={now.self_contact ? undefined : "Folds pass through each other, which is faster."}
          ask={(value) => change("self_contact", value)}
        />
      )}
      <Resolution />
    </>
  );
}
