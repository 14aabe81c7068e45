// The row that is always there: run, step, reset, home, and how the step goes against its budget.

import { THIN, count, fixed } from "./format";
import { home, reset, step, togglePause } from "./actions";
import { Home, Pause, Play, Reset, Step } from "./icons";
import { slowFrame } from "./throttle";
import { allowed, live, rigid, settings } from "./settings";

function Gauge() {
  const views = slowFrame.value?.views ?? [];
  const view = views[0];
  const ms = views.reduce((sum, one) => sum + one.ms, 0);
  const budget = allowed.value;
  const unit = rigid.value ? "iteration" : "sweep";
  const share = view ? view.ms / budget : 0;
  return (
    <div class="gauge">
      <p class="gauge-sweeps">
        <strong>{view ? count(view.sweeps) : "–"}</strong> <span>{view?.sweeps === 1 ? unit : `${unit}s`}</span>
      </p>
      <p class="gauge-ms">
        {view ? fixed(view.ms, 1) : "–"}
        <span class="of">
          {THIN}/{THIN}
          {fixed(budget, budget % 1 ? 1 : 0)}
        </span>
        <span>{THIN}ms</span>
        {views.length > 1 && <span class="visually-hidden">, {fixed(ms, 1)} ms of both</span>}
      </p>
      <div class="gauge-bar" data-over={share > 1.1} aria-hidden="true">
        <i style={{ transform: `scaleX(${Math.min(1, share).toFixed(3)})` }} />
      </div>
    </div>
  );
}

export function Transport() {
  const paused = settings.value?.paused ?? false;
  const name = paused ? "Play" : "Pause";
  const off = !live.value;
  return (
    <div class="transport">
      <div class="transport-keys" role="group" aria-label="Run">
        <button type="button" id="paused" class="primary" disabled={off} onClick={togglePause} title={`${name} (Space)`}>
          {paused ? <Play /> : <Pause />}
          <span class="visually-hidden">{name}</span>
        </button>
        <button type="button" id="step" disabled={off || !paused} onClick={step} title="One step while paused (.)">
          <Step />
          <span class="visually-hidden">One step</span>
        </button>
        <button type="button" id="reset" disabled={off} onClick={reset} title="Start again (R)">
          <Reset />
          <span class="visually-hidden">Start again</span>
        </button>
        <button type="button" id="home" onClick={home} title="Reset view (H)">
          <Home />
          <span class="visually-hidden">Reset view</span>
        </button>
      </div>
      <Gauge />
    </div>
  );
}
