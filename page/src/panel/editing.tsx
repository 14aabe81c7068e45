// Pins, cuts, and taking changes back.

import { type PinRule } from "../messages";
import { send, state } from "../store";
import { TOOLS, tool, type Tool } from "../tools";
import { redo, undo } from "./actions";
import { Section } from "./fields";
import { count } from "./format";
import { Redo, Undo } from "./icons";
import { live, rigid } from "./settings";

const NAMES: Record<Tool, string> = { hand: "Hand", pin: "Pin", cut: "Cut" };
const HINTS: Record<Tool, string> = {
  hand: "Drag a body to pull it.",
  pin: "Click on a vertex, or draw a box; what is pinned already is let go. Enter: in the middle of the view.",
  cut: "Draw a stroke over the body; it goes through all that lies under it. Enter: along the upright line in the middle.",
};
const RULES: [PinRule, string][] = [
  ["top", "Top edge"],
  ["corners", "Corners"],
  ["scene", "As the scene"],
  ["none", "None"],
];

function Tools() {
  return (
    <>
      <fieldset class="segments" disabled={!live.value}>
        <legend class="visually-hidden">What the pointer does</legend>
        {TOOLS.map((one) => (
          <label key={one}>
            <input
              type="radio"
              id={`tool_${one}`}
              name="tool"
              value={one}
              checked={tool.value === one}
              onChange={() => (tool.value = one)}
            />
            <span>{NAMES[one]}</span>
          </label>
        ))}
      </fieldset>
      <p class="hint">{HINTS[tool.value]}</p>
    </>
  );
}

function Pins() {
  const pins = state.value?.pins ?? 0;
  return (
    <div class="field" role="group" aria-labelledby="pins-label">
      <div class="field-head">
        <span id="pins-label">Pins</span>
        <output id="pins">{count(pins)}</output>
      </div>
      <div class="row wrap">
        {RULES.map(([rule, title]) => (
          <button type="button" key={rule} id={`pin_${rule}`} onClick={() => send({ type: "pin_by", rule })}>
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}

export function EditingSection() {
  const now = state.value;
  return (
    <Section id="editing" title="Pin, cut, undo">
      {!rigid.value && <Tools />}
      {!rigid.value && <Pins />}
      <div class="row halves">
        <button type="button" id="undo" disabled={!live.value || !now?.undo} onClick={undo} title="Undo (U, Ctrl Z)">
          <Undo /> Undo {now?.undo}
        </button>
        <button type="button" id="redo" disabled={!live.value || !now?.redo} onClick={redo} title="Redo (Y, Ctrl Shift Z)">
          <Redo /> Redo {now?.redo}
        </button>
      </div>
      <p class="hint">Settings, pins and cuts can be taken back; motion cannot. Starting again keeps all three.</p>
    </Section>
  );
}
