// The residual against the sweeps of the current step, on a logarithmic axis: a line for each simulation.

import type uPlot from "uplot";

import { frame } from "../../store";
import { power, short } from "../format";
import { rigid } from "../settings";
import { slowFrame } from "../throttle";
import { token } from "../theme";
import { decades, marks } from "./decades";
import { residuals } from "./history";
import { LivePlot, axis } from "./live";

function data(): uPlot.AlignedData {
  const lines = [residuals(0), residuals(1)].map((line) => new Map(line));
  const places = [...new Set(lines.flatMap((line) => [...line.keys()]))].sort((p, q) => p - q);
  if (places.length === 0) return [[0, 1], [null, null], [null, null]];
  return [places, ...lines.map((line) => places.map((x) => line.get(x)))] as uPlot.AlignedData;
}

const labels = (_: uPlot, splits: number[]) => splits.map((value) => power(Math.round(Math.log10(value))));

function options(): Omit<uPlot.Options, "width" | "height"> {
  const colours = { text: token("muted"), grid: token("grid") };
  return {
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 14, 0, 0],
    scales: {
      x: { time: false, range: (_, __, high) => [0, Math.max(high ?? 1, 1)] },
      y: { distr: 3, range: (_, low, high) => decades(low, high) },
    },
    axes: [
      axis(colours, { size: 22, space: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }),
      axis(colours, {
        size: 38,
        splits: (_, __, low, high) => marks(low, high),
        filter: (_, splits) => splits, // and not those alone that uPlot would have words for
        values: labels,
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
