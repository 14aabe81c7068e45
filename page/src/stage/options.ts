// What a person wants to see, as signals: the panel writes, the stage draws.

import { signal } from "@preact/signals";

import type { QualityChoice } from "./quality";

export const quality = signal<QualityChoice>("auto");
export const wireframe = signal(false);
/** Tetrahedra one by one, each a little smaller than it is. */
export const elements = signal(false);
/** Whether the scene has any. */
export const hasElements = signal(false);
/** Whether clicks measure. */
export const ruler = signal(false);
/** What was measured, and where on the stage that is said (CSS pixels). */
export const measured = signal<{ x: number; y: number; text: string } | null>(null);
/** Whether the bodies are out of sight. */
export const outside = signal(false);
