// What the last steps did, in numbers: tiles for one simulation, a table for two.

import type { ViewData } from "../messages";
import { Section } from "./fields";
import { THIN, count, fixed, percent, sentence, short } from "./format";
import { rigid } from "./settings";
import { slowFrame, slowPace } from "./throttle";

interface Row {
  name: string;
  title: string;
  of: (view: ViewData) => string;
}

const ROWS: Row[] = [
  { name: "Sweeps", title: "Sweeps over all constraints in the last step", of: (view) => count(view.sweeps) },
  { name: "Residual", title: "Norm of the residual that the last sweep met", of: (view) => short(view.residual) },
  { name: "Colours", title: "Colours of the constraint graph", of: (view) => count(view.colours) },
  { name: "Stretch, mean", title: "Mean change of length of the edges", of: (view) => percent(view.stretch[0]) },
  { name: "Stretch, max", title: "Largest change of length of an edge", of: (view) => percent(view.stretch[1]) },
  { name: "Contacts", title: "Contacts that the step found", of: (view) => count(view.contacts) },
];

const RIGID_ROWS: Row[] = [
  { name: "Contacts", title: "Contact points at the end of the last step", of: (view) => count(view.contacts) },
  { name: "Iterations", title: "Of the contact solver, in all substeps of the last step", of: (view) => count(view.sweeps) },
  { name: "Residual", title: "Largest change of an impulse in the last iteration, in N s", of: (view) => short(view.residual) },
  { name: "Colours", title: "Colours of the contacts", of: (view) => count(view.colours) },
  { name: "Overlap", title: "Deepest overlap of two bodies", of: (view) => `${fixed(1000 * (view.depth ?? 0), 2)}${THIN}mm` },
  { name: "Step", title: "Milliseconds of the last step", of: (view) => `${fixed(view.ms, 1)}${THIN}ms` },
];

const PHYSICS: Row = {
  name: "Step",
  title: "Milliseconds of the last step, and its budget",
  of: (view) => `${fixed(view.ms, 1)}${THIN}ms`,
};

function Tile({ name, title, value, unit }: { name: string; title: string; value: string; unit?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>
        {value}
        {unit && <span class="unit">{unit}</span>}
      </dd>
    </div>
  );
}

function Table({ views }: { views: ViewData[] }) {
  return (
    <table class="versus">
      <caption class="visually-hidden">The two simulations side by side</caption>
      <thead>
        <tr>
          <td />
          {views.map((view, k) => (
            <th key={k} scope="col">
              <i class={k ? "key b" : "key a"} aria-hidden="true" />
              {view.solver}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[PHYSICS, ...ROWS].map((row) => (
          <tr key={row.name}>
            <th scope="row" title={row.title}>
              {row.name}
            </th>
            {views.map((view, k) => (
              <td key={k}>{row.of(view)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a view has to say for itself, where that is out of the ordinary. */
function Notes({ view, named }: { view: ViewData; named: boolean }) {
  const corrected = view.corrected > 0 ? `The guard held ${count(view.corrected)} vertices back.` : "";
  const used = view.used && view.used !== view.solver ? `Solved by ${view.used}.` : "";
  const text = [used, sentence(view.note), corrected].filter(Boolean).join(" ");
  if (!text) return null;
  return (
    <p class="hint">
      {named && <b>{view.solver}: </b>}
      {text}
    </p>
  );
}

export function ReadoutSection() {
  const now = slowFrame.value;
  const views = now?.views ?? [];
  const { fps, latency } = slowPace.value;
  const [only] = views;
  return (
    <Section id="readouts" title="Measurements">
      {views.length > 1 && <Table views={views} />}
      <dl class="tiles">
        {views.length === 1 &&
          only &&
          (rigid.value ? RIGID_ROWS : ROWS).map((row) => <Tile key={row.name} name={row.name} title={row.title} value={row.of(only)} />)}
        <Tile
          name="Speed"
          title="Simulated seconds a second"
          value={now ? `${fixed(now.speed, 2)}×` : "–"}
          unit="real time"
        />
        <Tile name="Page" title="Frames that the page draws a second" value={fixed(fps, 0)} unit="fps" />
        <Tile
          name="Latency"
          title="From a move of the pointer to the frame that shows it"
          value={latency === null ? "–" : fixed(latency, 0)}
          unit={latency === null ? "" : "ms"}
        />
      </dl>
      <div class="notes">
        {views.map((view, k) => (
          <Notes key={k} view={view} named={views.length > 1} />
        ))}
      </div>
    </Section>
  );
}
