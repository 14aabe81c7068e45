// Whether the gallery is open: at first, where the viewer was started without a scene.

import { effect, signal } from "@preact/signals";

import { hello } from "../../store";

export const galleryOpen = signal(false);

export function openGallery(): void {
  galleryOpen.value = true;
}

export function closeGallery(): void {
  galleryOpen.value = false;
}

let greeted = false;

/** Once: who comes back after a lost connection has chosen already. */
export function startGallery(): void {
  effect(() => {
    if (!hello.value || greeted) return;
    greeted = true;
    if (hello.value.gallery) openGallery();
  });
}
