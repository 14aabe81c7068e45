// Two solvers side by side by one click, with a sentence that says what one sees.

import { useEffect, useRef } from "preact/hooks";

import { send } from "../store";
import { has, settings, solvers } from "./settings";
import { compareWith, opponent } from "./actions";

const USUAL = "auto";

/** What the right half shows, for somebody who does not know solvers. */
export function seen(solver: string, other: string): string {
  const alike = "Both begin alike, feel the same hand and have the same milliseconds.";
  if (solver === USUAL && other === "lbfgs(multigrid)")
    return `${alike} On the right every step is solved more exactly for where the cloth is, and not for where it turns: it hovers and falls late.`;
  if (solver === USUAL && other === "vivace")
    return `${alike} On the right is the paper's solver, which sweeps from vertex to vertex: wide motion comes late, and what hangs is longer.`;
  if (other === USUAL) return `${alike} On the right is what the default solver makes of them.`;
  return `${alike} Left is ${solver}, right is ${other}.`;
}

export function Difference() {
  const now = settings.value;
  const asked = useRef(false);
  const compare = now?.compare ?? "";
  useEffect(() => {
    // From the start, where there is most to see: at rest all solvers look alike.
    if (compare && asked.current) send({ type: "run", what: "reset" });
    if (compare) asked.current = false;
  }, [compare]);
  if (!now || !has("compare")) return null;
  if (now.compare)
    return (
      <div class="difference">
        <p id="difference_seen">{seen(now.solver, now.compare)}</p>
        <div class="row halves">
          <button type="button" id="difference" aria-describedby="difference_seen" onClick={() => compareWith("")}>
            One view
          </button>
          <button type="button" id="difference_again" onClick={() => send({ type: "run", what: "reset" })}>
            From the start
          </button>
        </div>
      </div>
    );
  const other = opponent(now.solver);
  if (!other || !solvers.value.some((one) => one.name === other)) return null;
  return (
    <div class="difference">
      <button type="button" id="difference" onClick={() => {
          asked.current = true;
          compareWith(other);
        }}>
        See the difference
      </button>
      <p class="hint">
        Beside {now.solver}, {other} on the same input.
      </p>
    </div>
  );
}
