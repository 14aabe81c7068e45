// Wind: its speed, and where it blows to as a slider with a compass that a pointer can turn.

import type { TargetedPointerEvent } from "preact";

import { RANGES } from "../messages";
import { Slider } from "./fields";
import { fixed } from "./format";
import { change, settings } from "./settings";

const SNAP = 5; // degrees

/** The heading under a pointer: 0 to the right, 90 upwards, seen from above with z towards the reader. */
function headingAt(event: TargetedPointerEvent<SVGSVGElement>): number {
  const box = event.currentTarget.getBoundingClientRect();
  const right = event.clientX - box.left - box.width / 2;
  const up = box.top + box.height / 2 - event.clientY;
  const degrees = (Math.atan2(up, right) * 180) / Math.PI;
  return (Math.round(((degrees + 360) % 360) / SNAP) * SNAP) % 360;
}

function Compass({ heading, strength }: { heading: number; strength: number }) {
  const turn = (event: TargetedPointerEvent<SVGSVGElement>) => {
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    if (event.currentTarget.hasPointerCapture(event.pointerId)) change("wind_heading", headingAt(event));
  };
  const marks = Array.from({ length: 24 }, (_, k) => k * 15);
  return (
    <svg class="compass" viewBox="-32 -32 64 64" aria-hidden="true" onPointerDown={turn} onPointerMove={turn}>
      <circle class="compass-face" r="30" />
      {marks.map((angle) => (
        <line key={angle} class="compass-mark" x1={angle % 90 ? 26.5 : 24} x2="28.5" transform={`rotate(${angle})`} />
      ))}
      <g transform={`rotate(${-heading})`} class="compass-needle" data-still={strength === 0}>
        <path d="M21 0 11-5.5v3.700H-15v3.600h26v3.700z" />
      </g>
    </svg>
  );
}

export function Wind() {
  const now = settings.value;
  if (!now) return null;
  return (
    <div class="wind">
      <Compass heading={now.wind_heading} strength={now.wind} />
      <div>
        <Slider
          id="wind"
          label="Wind"
          told={now.wind}
          min={RANGES.wind[0]}
          max={RANGES.wind[1]}
          step={0.1}
          text={(value) => (value === 0 ? ["still", ""] : [fixed(value, 1), "m/s"])}
          ask={(value) => change("wind", value)}
        />
        <Slider
          id="wind_heading"
          label="Towards"
          told={now.wind_heading}
          min={RANGES.wind_heading[0]}
          max={RANGES.wind_heading[1]}
          step={1}
          text={(value) => [`${fixed(value, 0)}°`, ""]}
          ask={(value) => change("wind_heading", value)}
        />
      </div>
    </div>
  );
}
