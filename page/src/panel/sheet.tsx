// The panel opens and closes: a column at the side of a wide window, a sheet at the foot of a narrow one.

import { signal } from "@preact/signals";
import type { TargetedPointerEvent } from "preact";
import { useRef } from "preact/hooks";

/** As in styles/sheet.css. */
const narrow = window.matchMedia("(max-width: 767px) and (min-height: 501px), (max-width: 559px)");
/** A phone on its side has no height to spare, and the column would cover the view. */
const low = window.matchMedia("(max-height: 500px)");
const CLICK = 6; // px: less is no drag

export const open = signal(!narrow.matches && !low.matches);
export const isSheet = signal(narrow.matches);

function show(): void {
  document.body.dataset.panel = open.value ? "open" : "closed";
}

export function startSheet(): void {
  open.subscribe(show);
  narrow.addEventListener("change", () => {
    isSheet.value = narrow.matches;
    open.value = !narrow.matches;
  });
}

export function toggle(): void {
  open.value = !open.peek();
}

/** Out of the way, where the sheet covers what one wants to see. */
export function fold(): void {
  if (isSheet.peek()) open.value = false;
}

/** What a finger takes hold of; for keyboards and readers an ordinary button. */
export function Handle() {
  const drag = useRef({ from: 0, height: 0, moved: false });
  const panel = () => document.getElementById("panel")!;

  const down = (event: TargetedPointerEvent<HTMLButtonElement>) => {
    drag.current = { from: event.clientY, height: panel().offsetHeight, moved: false };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: TargetedPointerEvent<HTMLButtonElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const up = drag.current.from - event.clientY;
    if (Math.abs(up) > CLICK) drag.current.moved = true;
    if (drag.current.moved) panel().style.height = `${drag.current.height + up}px`;
  };
  const end = (event: TargetedPointerEvent<HTMLButtonElement>) => {
    panel().style.height = "";
    if (drag.current.moved) open.value = drag.current.from - event.clientY > 0;
  };
  const click = () => {
    if (drag.current.moved) drag.current.moved = false; // the click at the end of a drag
    else toggle();
  };
  return (
    <button
      type="button"
      id="handle"
      aria-expanded={open.value}
      aria-controls="controls"
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onClick={click}
    >
      <i aria-hidden="true" />
      <span class="visually-hidden">All controls</span>
    </button>
  );
}
