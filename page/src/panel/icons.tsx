// Signs for buttons, drawn on a grid of 20; the words stand beside them or in the label.

import type { ComponentChildren } from "preact";

function Icon({ children, solid = false }: { children: ComponentChildren; solid?: boolean }) {
  return (
    <svg class={solid ? "icon solid" : "icon"} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const Play = () => (
  <Icon solid>
    <path d="M6.5 3.8v12.4c0 .7.8 1.1 1.4.7l9-6.2a.85.85 0 0 0 0-1.4l-9-6.2c-.6-.4-1.4 0-1.4.7z" />
  </Icon>
);
export const Pause = () => (
  <Icon solid>
    <rect x="4.5" y="3.5" width="4" height="13" rx="1.2" />
    <rect x="11.5" y="3.5" width="4" height="13" rx="1.2" />
  </Icon>
);
export const Step = () => (
  <Icon solid>
    <path d="M4 4.3v11.4c0 .7.7 1 1.3.6l8-5.7a.75.75 0 0 0 0-1.2l-8-5.7C4.7 3.3 4 3.6 4 4.3z" />
    <rect x="14.5" y="3.5" width="2.5" height="13" rx="1" />
  </Icon>
);
export const Reset = () => (
  <Icon>
    <path d="M4.2 8.2A6.2 6.2 0 1 1 4 11.7" />
    <path d="M3.6 3.8v4.6h4.6" />
  </Icon>
);
export const Home = () => (
  <Icon>
    <path d="M3 7V4.2C3 3.5 3.5 3 4.2 3H7M13 3h2.8c.7 0 1.2.5 1.2 1.2V7M17 13v2.8c0 .7-.5 1.2-1.2 1.2H13M7 17H4.2C3.5 17 3 16.5 3 15.8V13" />
    <circle cx="10" cy="10" r="2.6" />
  </Icon>
);
export const Sun = () => (
  <Icon>
    <circle cx="10" cy="10" r="3.4" />
    <path d="M10 2v1.8M10 16.2V18M2 10h1.8M16.2 10H18M4.3 4.3l1.3 1.3M14.4 14.4l1.3 1.3M4.3 15.7l1.3-1.3M14.4 5.6l1.3-1.3" />
  </Icon>
);
export const Moon = () => (
  <Icon>
    <path d="M16.5 12.2A7 7 0 0 1 7.8 3.5a7 7 0 1 0 8.7 8.7z" />
  </Icon>
);
export const Question = () => (
  <Icon>
    <path d="M7.2 7.4a2.9 2.9 0 1 1 4.3 2.5c-1 .6-1.5 1.2-1.5 2.3" />
    <path d="M10 15.4v.2" />
  </Icon>
);
export const Chevron = () => (
  <Icon>
    <path d="M7.5 4.5 13 10l-5.5 5.5" />
  </Icon>
);
export const Cross = () => (
  <Icon>
    <path d="m5 5 10 10M15 5 5 15" />
  </Icon>
);
export const Gallery = () => (
  <Icon>
    <rect x="3" y="3.5" width="5.8" height="5.8" rx="1.4" />
    <rect x="11.200" y="3.5" width="5.8" height="5.8" rx="1.4" />
    <rect x="3" y="11.200" width="5.8" height="5.8" rx="1.4" />
    <rect x="11.200" y="11.200" width="5.8" height="5.8" rx="1.4" />
  </Icon>
);
export const Undo = () => (
  <Icon>
    <path d="M7.5 4 3.5 8l4 4" />
    <path d="M4 8h7.5a4.2 4.2 0 0 1 0 8.4H8" />
  </Icon>
);
export const Redo = () => (
  <Icon>
    <path d="m12.5 4 4 4-4 4" />
    <path d="M16 8H8.5a4.2 4.2 0 0 0 0 8.4H12" />
  </Icon>
);
export const Film = () => (
  <Icon>
    <path d="M10 3v9.5M6 8.8l4 4 4-4M3.5 16.5h13" />
  </Icon>
);
