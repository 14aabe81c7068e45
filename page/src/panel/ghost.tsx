// How the body would have moved if every step were converged, beside how it did.

import { ghost, send } from "../store";
import { Section } from "./fields";
import { THIN, fixed } from "./format";
import { live, rigid } from "./settings";
import { slowFrame } from "./throttle";

const cm = (metres: number) => `${fixed(100 * metres, 100 * metres < 9.95 ? 1 : 0)}${THIN}cm`;
const on = () => (ghost.value !== null && ghost.value.phase !== "off") || slowFrame.value?.ghost != null;

function Distances() {
  const rows = ghost.value?.distances ?? [];
  const last = rows.length - 1;
  const shown = [0.25, 0.5, 0.75, 1].map((share) => rows[Math.round(share * last)]).filter((row) => row !== undefined);
  return (
    <table class="versus" id="ghost_distances">
      <caption class="visually-hidden">Distance between the live and the converged motion</caption>
      <thead>
        <tr>
          <th scope="col" style={{ paddingLeft: 0, textAlign: "left" }}>
            After
          </th>
          <th scope="col">RMS</th>
          <th scope="col">Largest</th>
        </tr>
      </thead>
      <tbody>
        {shown.map(([seconds, rms, largest]) => (
          <tr key={seconds}>
            <th scope="row">{`${fixed(seconds, 2)}${THIN}s`}</th>
            <td>{cm(rms)}</td>
            <td>{cm(largest)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function GhostSection() {
  const now = ghost.value;
  const busy = now !== null && (now.phase === "watching" || now.phase === "computing");
  return (
    <Section id="ghost" title="Ghost">
      <button
        type="button"
        id="ghost_toggle"
        aria-pressed={on()}
        disabled={!live.value || rigid.value}
        onClick={() => send({ type: "set_ghost", on: !on() })}
      >
        {on() ? "End the comparison" : "Compare with the converged motion"}
      </button>
      {busy && (
        <div role="status" aria-live="off">
          <label for="ghost_progress" class="hint">
            Computing two seconds, {now.done} of {now.total} frames
          </label>
          <progress id="ghost_progress" max={Math.max(1, now.total)} value={now.done} />
        </div>
      )}
      {now?.phase === "showing" && <Distances />}
      <p class="hint">
        {now?.phase === "showing"
          ? `The body repeats how it just moved; the ghost is the same time converged (${now.text.replace(/^by /, "")}).`
          : "From now on, for two seconds: how the body would move if every step were solved to the end. Leave it alone meanwhile; the simulation goes on."}
      </p>
    </Section>
  );
}

/** Over the view, while the two are shown. */
export function GhostLine() {
  const frame = slowFrame.value?.ghost;
  if (!frame) return null;
  return (
    <p class="slow" id="ghost_line">
      <b>{`${fixed(frame.seconds, 2)}${THIN}s`}</b> live, and converged (the ghost): {cm(frame.rms)} apart, {cm(frame.largest)} at
      most
    </p>
  );
}
