// The world around the body: gravity and wind; time for solvers.

import { RANGES } from "../messages";
import { Slider } from "./fields";
import { fixed, short } from "./format";
import { change, has, settings } from "./settings";
import { Wind } from "./wind";

const LOG = { to: (value: number) => Math.log10(value), from: (place: number) => 10 ** place };

// Rates that people mean; a slider that comes near one takes it exactly.
const RATES = [240, 200, 180, 150, 144, 120, 100, 90, 75, 72, 60, 50, 45, 40, 36, 30, 25, 24, 20, 18, 16, 15];
const NEAR = 0.008;

function snapped(seconds: number): number {
  const rate = RATES.find((one) => Math.abs(seconds * one - 1) < NEAR);
  return rate === undefined ? seconds : 1 / rate;
}

export function TimeStep() {
  const now = settings.value;
  if (!now) return null;
  return (
    <Slider
      id="time_step"
      label="Time step"
      told={now.time_step}
      min={RANGES.time_step[0]}
      max={RANGES.time_step[1]}
      step="any"
      text={(value) => [fixed(1000 * value, 1), `ms · ${fixed(1 / value, 0)} Hz`]}
      scale={{ to: (value) => value, from: snapped }}
      ask={(value) => change("time_step", value)}
    />
  );
}

export function Forces() {
  const now = settings.value;
  if (!now) return null;
  return (
    <>
      {has("stiffness") && (
        <Slider
          id="stiffness"
          label="Stiffness"
          told={now.stiffness}
          min={RANGES.stiffness[0]}
          max={RANGES.stiffness[1]}
          step={0.02}
          scale={{ to: LOG.to, from: (place) => Number((10 ** place).toPrecision(3)) }}
          text={(value) => [`×${short(value)}`, ""]}
          mark={1}
          ask={(value) => change("stiffness", value)}
        />
      )}
      <Slider
        id="gravity"
        label="Gravity"
        told={now.gravity}
        min={RANGES.gravity[0]}
        max={RANGES.gravity[1]}
        step={0.01}
        text={(value) => [fixed(value, 2), "m/s²"]}
        mark={9.81}
        ask={(value) => change("gravity", value)}
      />
      {has("wind") && <Wind />}
    </>
  );
}
