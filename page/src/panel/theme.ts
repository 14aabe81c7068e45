// Light or dark: what the system asks for, until the person chooses.

import { theme } from "../store";
import { remember, remembered } from "./remember";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function show(name: "light" | "dark"): void {
  document.documentElement.dataset.theme = name;
  theme.value = name;
}

export function startTheme(): void {
  const chosen = remembered("theme");
  show(chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => {
    if (remembered("theme") === null) show(dark.matches ? "dark" : "light");
  });
}

export function toggleTheme(): void {
  show(theme.value === "dark" ? "light" : "dark");
  remember("theme", theme.value);
}

/** A colour of the style sheet, for what is drawn on a canvas. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
