// Frames come as fast as the screen; words and numbers follow a few times a second, which is as fast as people read.

import { effect, signal } from "@preact/signals";

import type { FrameData } from "../messages";
import { frame, pace as storePace, type Pace } from "../store";

const PAUSE = 250; // ms

export const slowFrame = signal<FrameData | null>(null);
export const slowPace = signal<Pace>({ fps: 0, latency: null });

export function startThrottle(): void {
  let timer = 0;
  const show = () => {
    timer = 0;
    slowFrame.value = frame.peek();
    slowPace.value = storePace.peek();
  };
  effect(() => {
    const now = frame.value;
    storePace.value;
    // The first frame of a scene, and a change of the number of views, are shown at once.
    const before = slowFrame.peek();
    if (!now || !before || now.scene !== before.scene || now.views.length !== before.views.length) show();
    else if (!timer) timer = window.setTimeout(show, PAUSE);
  });
}
