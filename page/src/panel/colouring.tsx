// What the body is coloured by, and what its colours mean.

import { COLOUR_BY } from "../messages";
import { state, theme } from "../store";
import { categorical, ramp } from "../stage/colours";
import { COLOUR_NAMES } from "./actions";
import { Section } from "./fields";
import { THIN, count, short } from "./format";
import { slowFrame } from "./throttle";
import { change, live, settings, useShown } from "./settings";

const MOST_SWATCHES = 24; // more than fit in a line

function Ramp() {
  const view = slowFrame.value?.views[0];
  const [low = 0, high = 0] = view?.values ?? [];
  const unit = view?.unit ? `${THIN}${view.unit}` : "";
  return (
    <>
      <div class="legend-ramp" style={{ backgroundImage: `linear-gradient(90deg, ${ramp(theme.value).join(", ")})` }} />
      <p class="legend-ends">
        <span>
          {short(low)}
          {unit}
        </span>
        <span>
          {short(high)}
          {unit}
        </span>
      </p>
    </>
  );
}

function Contact() {
  const colours = ramp(theme.value);
  return (
    <p class="legend-keys">
      <span>
        <i style={{ background: colours[0] }} /> free
      </span>
      <span>
        <i style={{ background: colours[colours.length - 1] }} /> in contact
      </span>
    </p>
  );
}

function Graph() {
  const view = slowFrame.value?.views[0];
  const colours = Math.round(view?.values[1] ?? 0);
  if (!view || colours < 1) return <p class="hint">This solver does not colour the constraint graph.</p>;
  return (
    <>
      <div class="legend-swatches" aria-hidden="true">
        {Array.from({ length: Math.min(colours, MOST_SWATCHES) }, (_, k) => (
          <i key={k} style={{ background: categorical(k) }} />
        ))}
      </div>
      <p class="hint">
        {count(colours)} {colours === 1 ? "colour" : "colours"}: what has the same one is solved at the same time.
      </p>
    </>
  );
}

function Conversion() {
  if (!slowFrame.value?.views[0]?.values[1]) return <p class="hint">There is nothing hyperelastic in this scene.</p>;
  return (
    <>
      <Ramp />
      <p class="hint">How much of the flattened or inverted elements at a vertex has become projective dynamics.</p>
    </>
  );
}

function Legend() {
  switch (slowFrame.value?.colour_by ?? "plain") {
    case "plain":
      return <p class="hint">Every body in its own colour.</p>;
    case "graph":
      return <Graph />;
    case "contact":
      return <Contact />;
    case "strain":
      return (
        <>
          <Ramp />
          <p class="hint">The largest change of length among the edges at a vertex.</p>
        </>
      );
    case "velocity":
      return (
        <>
          <Ramp />
          <p class="hint">How fast a vertex moves.</p>
        </>
      );
    case "conversion":
      return <Conversion />;
    case "residual":
      return (
        <>
          <Ramp />
          <p class="hint">The force that the solver left at a vertex; the scale is logarithmic.</p>
        </>
      );
  }
}

export function ColouringSection() {
  const { shown, hold, letGo } = useShown(settings.value?.colour_by ?? "plain");
  return (
    <Section id="colouring" title="Colour by">
      <fieldset class="segments many" disabled={!live.value}>
        <legend class="visually-hidden">Colour the body by</legend>
        {(state.value?.colourings ?? COLOUR_BY).map((kind) => (
          <label key={kind}>
            <input
              type="radio"
              name="colour_by"
              value={kind}
              checked={shown === kind}
              onChange={() => {
                hold(kind);
                letGo();
                change("colour_by", kind);
              }}
            />
            <span>{COLOUR_NAMES[kind]}</span>
          </label>
        ))}
      </fieldset>
      <div class="legend">
        <Legend />
      </div>
    </Section>
  );
}
