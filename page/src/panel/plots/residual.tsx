// The residual against the sweeps of the current step, on a logarithmic axis: a line for each simulation.

import type uPlot from "uplot";

import { frame } from "../../store";
import { power, short } from "../format";
import { rigid } from "../settings";
import { slowFrame } from "../throttle";
import { token } from "../theme";
import { residuals } from "./history";
import { LivePlot, axis } from "./live";

const FLAT = [1e-3, 1] as const; // where there is nothing to show

function data(): uPlot.AlignedData {
  const lines = [residuals(0), residuals(1)].map((line) => new Map(line));
  const places = [...new Set(lines.flatMap((line) => [...line.keys()]))].sort((p, q) => p - q);
  if (places.length === 0) return [[0, 1], [null, null], [null, null]];
  return [places, ...lines.map((line) => places.map((x) => line.get(x)))] as uPlot.AlignedData;
}

/** Whole decades, so that the axis does not tremble with every step. */
function decades(_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null || !(low > 0) || !(high > 0)) return [...FLAT];
  const floor = Math.floor(Math.log10(low) + 1e-9);
  const ceiling = Math.ceil(Math.log10(high) - 1e-9);
  return [10 ** floor, 10 ** Math.max(ceiling, floor + 1)];
}

/** Powers of ten only, and few of them when there are many. */
function powers(plot: uPlot, splits: number[]): (number | null)[] {
  const span = Math.log10((plot.scales.y?.max ?? 1) / (plot.scales.y?.min ?? 1));
  const every = Math.max(1, Math.ceil(span / 5));
  return splits.map((value) => {
    const exponent = Math.log10(value);
    const whole = Math.round(exponent);
    return Math.abs(exponent - whole) < 1e-6 && whole % every === 0 ? value : null;
  });
}

const labels = (_: uPlot, splits: (number | null)[]) =>
  splits.map((value) => (value === null ? null : power(Math.round(Math.log10(value)))));

function options(): Omit<uPlot.Options, "width" | "height"> {
  const colours = { text: token("muted"), grid: token("grid") };
  return {
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 14, 0, 0],
    scales: {
      x: { time: false, range: (_, __, high) => [0, Math.max(high ?? 1, 1)] },
      y: { distr: 3, range: decades },
    },
    axes: [
      axis(colours, { size: 22, space: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }),
      axis(colours, {
        size: 38,
        space: 18,
        values: labels,
        filter: powers,
        grid: { stroke: colours.grid, width: 1, filter: powers },
      }),
    ],
    series: [
      {},
      { stroke: token("a"), width: 2, spanGaps: true, points: { show: false } },
      { stroke: token("b"), width: 2, dash: [6, 4], spanGaps: true, points: { show: false } },
    ],
  };
}

function words(): string {
  const told = (frame.peek()?.views ?? []).map((view, k) => {
    const line = residuals(k ? 1 : 0);
    const first = line[0];
    const last = line[line.length - 1];
    if (!first || !last) return `${view.solver}: no residuals`;
    return `${view.solver}: from ${short(first[1])} to ${short(last[1])} in ${last[0] + 1} ${rigid.peek() ? "iterations" : "sweeps"}`;
  });
  return told.join("; ");
}

export function ResidualPlot() {
  const views = slowFrame.value?.views ?? [];
  const title = rigid.value ? "Residual by iteration, last substep" : "Residual by sweep";
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        {views.length > 1 && (
          <p class="keys">
            {views.map((view, k) => (
              <span key={k}>
                <i class={k ? "key b" : "key a"} aria-hidden="true" />
                {view.solver}
              </span>
            ))}
          </p>
        )}
      </figcaption>
      <LivePlot label={title} height={132} options={options} data={data} words={words} kind="residual" />
    </figure>
  );
}
