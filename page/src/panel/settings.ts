// Settings between the person and the server: what is asked for leaves at most once a frame, what is shown is the
// server's word, except for the moment in which the person's own pointer is ahead of it.

import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Change, Settings } from "../messages";
import { hello, link, send, state } from "../store";

export type Field = keyof Settings;

export const settings = computed(() => state.value?.settings ?? null);
export const live = computed(() => link.value === "open" && state.value !== null);
/** Whether the bodies are rigid: then much that soft ones have is not there. */
export const rigid = computed(() => state.value?.bodies === "rigid");
/** Those that can do what the scene needs. */
export const solvers = computed(() => {
  const all = (rigid.value ? hello.value?.contact_solvers : hello.value?.solvers) ?? [];
  const able = state.value?.solvers ?? [];
  return all.filter((one) => able.includes(one.name));
});
/** Whether a setting does anything for this scene and its solver. */
export const has = (name: Field): boolean => state.value?.controls.includes(name) ?? false;
export const choice = computed(() => solvers.value.find((one) => one.name === settings.value?.solver) ?? null);
/** What a step may take, in ms: its budget, or, where it has iterations, the time that it simulates. */
export const allowed = computed(() => {
  const now = settings.value;
  return now ? (now.iterations === null ? now.budget_ms : 1000 * now.time_step) : 8;
});

const waiting = new Map<Field, Change>();

/** Ask for one setting; of several values in one frame the last is sent. */
export function change<K extends Field>(field: K, value: NonNullable<Settings[K]>): void {
  if (waiting.size === 0) window.requestAnimationFrame(flush);
  waiting.set(field, { type: "change", [field]: value });
}

function flush(): void {
  for (const message of waiting.values()) send(message);
  waiting.clear();
}

const PATIENCE = 800; // ms that a value may stand before the server has confirmed it

function same(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a));
  return a === b;
}

interface Shown<T> {
  shown: T;
  /** Show this, as long as the pointer is on it. */
  hold: (value: T) => void;
  /** The pointer has left: the server's word counts, as soon as it comes. */
  letGo: () => void;
}

/** The server's value, or the person's own while that is on its way. */
export function useShown<T>(told: T): Shown<T> {
  const [own, setOwn] = useState<{ value: T } | null>(null);
  const held = useRef(false);
  const timer = useRef(0);

  const wait = () => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      if (state.peek()?.busy) wait(); // preparing a solver may take seconds
      else setOwn(null);
    }, PATIENCE);
  };
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useEffect(() => {
    // Echoes of values that the pointer has passed are no answer yet.
    if (own && !held.current && same(own.value, told)) setOwn(null);
  }, [told]);

  return {
    shown: own ? own.value : told,
    hold: (value) => {
      held.current = true;
      window.clearTimeout(timer.current);
      setOwn({ value });
    },
    letGo: () => {
      held.current = false;
      wait();
    },
  };
}
