// Milliseconds by stage over the last steps, stacked, with the budget as a line.

import { computed, signal } from "@preact/signals";
import type uPlot from "uplot";

import { fixed } from "../format";
import { slowFrame } from "../throttle";
import { allowed, settings } from "../settings";
import { token } from "../theme";
import { SPAN, means, stacked, stages, usualMost } from "./history";
import { LivePlot, axis } from "./live";

const chosen = signal<0 | 1>(0);
const side = computed(() => ((slowFrame.value?.views.length ?? 0) > 1 ? chosen.value : 0));
const HEADROOM = 1.25; // of the budget, so that its line is not the edge

const budget = () => allowed.peek();
const line = () => (settings.peek()?.iterations == null ? "budget" : "real time");

/** In steps, so that the axis keeps still. */
function upTo(): uPlot.Range.MinMax {
  const most = Math.max(usualMost(side.peek()) * 1.1, budget() * HEADROOM);
  const step = most > 200 ? 100 : most > 40 ? 20 : most > 16 ? 5 : most > 6 ? 2 : 1;
  return [0, Math.ceil(most / step) * step];
}

function drawBudget(plot: uPlot): void {
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(budget(), "y", true));
  const scale = window.devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = token("text");
  ctx.lineWidth = scale;
  ctx.setLineDash([2 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y + 0.5);
  ctx.lineTo(bbox.left + bbox.width, y + 0.5);
  ctx.stroke();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.fillText(`${line()} ${fixed(budget(), 1)} ms`, bbox.left + bbox.width, y - 4 * scale);
  ctx.restore();
}

function options(): Omit<uPlot.Options, "width" | "height"> {
  const colours = { text: token("muted"), grid: token("grid") };
  return {
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 14, 0, 0],
    scales: { x: { time: false, range: [1 - SPAN, 0] }, y: { range: upTo } },
    axes: [
      axis(colours, { size: 22, splits: [-100, -50, 0], values: (_, at) => at.map((x) => (x ? `−${-x}` : "now")) }),
      axis(colours, { size: 38, space: 24 }),
    ],
    // From the sum of all down to the first stage, each painted over the one before.
    series: [
      {},
      ...[...stages.peek()].reverse().map(([, colour]) => ({
        fill: token(colour),
        width: 0,
        points: { show: false },
      })),
    ],
    hooks: { draw: [drawBudget] },
  };
}

function words(): string {
  const ms = means(side.peek());
  const parts = stages.peek().map(([stage], k) => `${stage} ${fixed(ms[k] ?? 0, 1)}`);
  return `Lately, in milliseconds: ${parts.join(", ")}; the line of ${line()} is at ${fixed(budget(), 1)}`;
}

export function StagePlot() {
  const views = slowFrame.value?.views ?? [];
  const ms = means(side.value);
  return (
    <figure>
      <figcaption>
        <h3>Milliseconds by stage</h3>
        {views.length > 1 && (
          <fieldset class="segments tiny">
            <legend class="visually-hidden">Of which simulation</legend>
            {([0, 1] as const).map((k) => (
              <label key={k}>
                <input
                  type="radio"
                  name="stages_of"
                  value={k}
                  checked={side.value === k}
                  onChange={() => (chosen.value = k)}
                />
                <span>
                  {k ? "B" : "A"}
                  <span class="visually-hidden"> {views[k]?.solver}</span>
                </span>
              </label>
            ))}
          </fieldset>
        )}
      </figcaption>
      <LivePlot
        label="Milliseconds by stage over the last steps"
        height={150}
        options={options}
        data={() => stacked(side.peek())}
        words={words}
        kind={`stages${side.value}${stages.value.length}`}
      />
      <ul class="keys stages">
        {stages.value.map(([stage, colour], k) => (
          <li key={stage}>
            <i class="swatch" style={{ background: `var(--${colour})` }} aria-hidden="true" />
            {stage} <b>{fixed(ms[k] ?? 0, 1)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}
