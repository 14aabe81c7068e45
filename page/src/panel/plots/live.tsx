// A plot that follows the simulation: redrawn a few times a second, and only while it can be seen.

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { frame, theme } from "../../store";

const PAUSE = 100; // ms between redraws
const WORDS = 3000; // ms between new words for those who do not see the plot

export interface LiveProps {
  label: string;
  height: number;
  /** Everything but the size; asked for again when the theme or `kind` changes, for its colours. */
  options: () => Omit<uPlot.Options, "width" | "height">;
  data: () => uPlot.AlignedData;
  /** The plot in words. */
  words: () => string;
  /** When this changes, the plot is made anew. */
  kind: string;
}

export function LivePlot({ label, height, options, data, words, kind }: LiveProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [said, setSaid] = useState("");

  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    let plot: uPlot | null = null;
    let visible = false;
    let timer = 0;
    let spoken = -WORDS;

    const draw = () => {
      timer = 0;
      if (!visible || !plot) return;
      const now = data();
      if (now.length !== plot.series.length) return; // of other bodies: the plot for these is made after the next picture
      plot.setData(now);
      const time = performance.now();
      if (time - spoken > WORDS) {
        spoken = time;
        setSaid(words());
      }
    };
    const soon = () => {
      if (visible && !timer) timer = window.setTimeout(draw, PAUSE);
    };
    const make = () => {
      plot?.destroy();
      const width = element.clientWidth;
      plot = width > 0 ? new uPlot({ ...options(), width, height }, data(), element) : null;
    };

    const seen = new IntersectionObserver(([entry]) => {
      visible = entry?.isIntersecting ?? false;
      soon();
    });
    const resized = new ResizeObserver(() => {
      if (!plot) make();
      else if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    seen.observe(element);
    resized.observe(element);
    const stopTheme = effect(() => {
      theme.value;
      make();
    });
    const stopFrames = effect(() => {
      frame.value;
      soon();
    });
    return () => {
      stopTheme();
      stopFrames();
      seen.disconnect();
      resized.disconnect();
      window.clearTimeout(timer);
      plot?.destroy();
    };
  }, [kind]);

  return <div class="plot" ref={holder} role="img" aria-label={`${label}. ${said}`} style={{ height: `${height}px` }} />;
}

/** Axes alike in all plots. */
export function axis(colours: { text: string; grid: string }, own: uPlot.Axis): uPlot.Axis {
  return {
    font: "11px system-ui, sans-serif",
    labelFont: "11px system-ui, sans-serif",
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    border: { show: false },
    gap: 4,
    ...own,
  };
}
