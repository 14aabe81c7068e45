// The two kinds of control that settings have, each a native element with its label, value and explanation.

import type { ComponentChildren, TargetedEvent, TargetedInputEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Chevron } from "./icons";
import { remember, remembered } from "./remember";
import { useShown } from "./settings";

interface Described {
  /** The setting's own name: id and name of the control. */
  id: string;
  label: string;
  hint?: string | undefined;
  disabled?: boolean | undefined;
}

export interface SliderProps extends Described {
  told: number;
  min: number;
  max: number;
  step: number | "any";
  /** The value as text: the number, and its unit set more quietly. */
  text: (value: number) => [string, string];
  ask: (value: number) => void;
  /** Once, when the pointer has left: for what takes long. */
  settle?: (value: number) => void;
  /** Where the slider runs on another scale than the value. */
  scale?: { to: (value: number) => number; from: (place: number) => number };
  /** A value that is marked below the track. */
  mark?: number | undefined;
  aside?: ComponentChildren;
}

const SAME = { to: (value: number) => value, from: (place: number) => place };

export function Slider(props: SliderProps) {
  const { id, label, hint, disabled = false, told, min, max, step, text, ask, settle, scale = SAME, mark, aside } = props;
  const { shown, hold, letGo } = useShown(told);
  const [number, unit] = text(shown);
  const low = scale.to(min);
  const high = scale.to(max);
  const share = (value: number) => Math.min(1, Math.max(0, (scale.to(value) - low) / (high - low))).toFixed(4);

  const input = (event: TargetedInputEvent<HTMLInputElement>) => {
    const value = scale.from(event.currentTarget.valueAsNumber);
    hold(value);
    ask(value);
  };
  return (
    <div class="field">
      <div class="field-head">
        <label for={id}>{label}</label>
        {aside}
        <output for={id} aria-live="off">
          {number}
          {unit && <span class="unit">{unit}</span>}
        </output>
      </div>
      <div class="track" style={{ "--share": share(shown), ...(mark === undefined ? {} : { "--mark": share(mark) }) }}>
        {mark !== undefined && <i class="mark" />}
        <input
          type="range"
          id={id}
          name={id}
          min={low}
          max={high}
          step={step}
          value={scale.to(shown)}
          disabled={disabled}
          aria-valuetext={`${number} ${unit}`.trim()}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onInput={input}
          onChange={(event) => {
            letGo();
            settle?.(scale.from(event.currentTarget.valueAsNumber));
          }}
        />
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface Option {
  value: string;
  text: string;
}

export interface SelectProps extends Described {
  told: string;
  options: Option[];
  ask: (value: string) => void;
}

export function Select({ id, label, hint, disabled = false, told, options, ask }: SelectProps) {
  const { shown, hold, letGo } = useShown(told);
  const element = useRef<HTMLSelectElement>(null);
  // A refused choice leaves the server's value as it was, so nothing would put the list back.
  useLayoutEffect(() => {
    if (element.current && element.current.value !== shown) element.current.value = shown;
  });
  const known = options.some((option) => option.value === shown);
  const pick = (event: TargetedEvent<HTMLSelectElement>) => {
    hold(event.currentTarget.value);
    letGo();
    ask(event.currentTarget.value);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="select">
        <select
          id={id}
          name={id}
          ref={element}
          value={shown}
          disabled={disabled}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={pick}
        >
          {!known && <option value={shown}>{shown}</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface SwitchProps extends Described {
  told: boolean;
  ask: (value: boolean) => void;
}

export function Switch({ id, label, hint, disabled = false, told, ask }: SwitchProps) {
  const { shown, hold, letGo } = useShown(told);
  return (
    <div class="field">
      <label class="switch">
        <span>{label}</span>
        <input
          type="checkbox"
          role="switch"
          id={id}
          name={id}
          checked={shown}
          disabled={disabled}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={(event) => {
            hold(event.currentTarget.checked);
            letGo();
            ask(event.currentTarget.checked);
          }}
        />
      </label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface SectionProps {
  id: string;
  title: string;
  /** Whether it is closed until somebody opens it. */
  closed?: boolean;
  children: ComponentChildren;
}

export function Section({ id, title, closed = false, children }: SectionProps) {
  const [open] = useState(() => (remembered(`section.${id}`) ?? (closed ? "closed" : "open")) !== "closed");
  const keep = (event: TargetedEvent<HTMLDetailsElement>) =>
    remember(`section.${id}`, event.currentTarget.open ? "open" : "closed");
  return (
    <details class="section" open={open} onToggle={keep}>
      <summary>
        <h2>{title}</h2>
        <Chevron />
      </summary>
      <div class="section-body">{children}</div>
    </details>
  );
}
