// The hand: how hard a pointer pulls, and how much it takes hold of, and what it throws in.

import { ADDED_SHAPE, RANGES } from "../messages";
import { send } from "../store";
import { Section, Slider } from "./fields";
import { fixed, short } from "./format";
import { endings, sending, upload } from "./gallery/upload";
import { change, has, settings } from "./settings";

const LOG = { to: (value: number) => Math.log10(value), from: (place: number) => Number((10 ** place).toPrecision(2)) };

export function HandSection() {
  const now = settings.value;
  if (!now || !has("hand_force")) return null;
  return (
    <Section id="hand" title="Hand">
      <Slider
        id="hand_force"
        label="Force"
        told={now.hand_force}
        min={RANGES.hand_force[0]}
        max={RANGES.hand_force[1]}
        step={0.02}
        scale={LOG}
        text={(value) => [short(value), "N"]}
        hint="It pulls with no more than that, and slips before the body tears. A person pulls with 200 N."
        ask={(value) => change("hand_force", value)}
      />
      <Slider
        id="grab_radius"
        label="Radius"
        told={now.grab_radius}
        min={RANGES.grab_radius[0]}
        max={RANGES.grab_radius[1]}
        step={0.005}
        text={(value) => [fixed(100 * value, 1), "cm"]}
        hint={now.grab_radius === 0 ? "Holds a single vertex." : undefined}
        ask={(value) => change("grab_radius", value)}
      />
      <div class="field">
        <p id="add-label">Throw in</p>
        <div class="row wrap" role="group" aria-labelledby="add-label">
          {ADDED_SHAPE.map((shape) => (
            <button
              type="button"
              key={shape}
              id={`add_${shape}`}
              disabled={now.compare !== ""}
              onClick={() => send({ type: "add_body", shape })}
            >
              {`${shape.charAt(0).toUpperCase()}${shape.slice(1)}`}
            </button>
          ))}
          <label class="button" data-disabled={now.compare !== "" || sending.value !== null}>
            <input
              type="file"
              id="add_mesh"
              class="visually-hidden"
              accept={endings.value.join(",")}
              disabled={now.compare !== "" || sending.value !== null}
              aria-describedby="add_hint"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                if (file) void upload(file, true);
                event.currentTarget.value = ""; // the same file again is a change, too
              }}
            />
            {sending.value ? "Reading…" : "Your mesh"}
          </label>
        </div>
        <p class="hint" id="add_hint">
          Grab and throw it. Starting again takes it out. A mesh of your own touches by its convex hull. What stands in the scene can be
          moved, too: drag it.
        </p>
      </div>
    </Section>
  );
}
