// Over the view: what the ruler says, what it waits for, and the way back to a body that is out of sight.

import { measured, outside, ruler } from "../stage/options";
import { fit } from "./actions";

export function Measuring() {
  const now = measured.value;
  return (
    <>
      {ruler.value && <i class="ruler-cross" aria-hidden="true" />}
      {now && (
        <p class="measured" style={{ left: `${now.x}px`, top: `${now.y}px` }}>
          {now.text}
        </p>
      )}
      <div role="status" class="visually-hidden">
        {now && `Distance ${now.text}`}
      </div>
    </>
  );
}

/** What one can do now, at the foot of the view. */
export function Hints() {
  return (
    <>
      {ruler.value && !measured.value && (
        <p class="view-hint">Click two points, or press Enter with each in the middle of the view. Escape ends measuring.</p>
      )}
      {outside.value && (
        <button type="button" id="bring_back" class="view-hint" onClick={fit}>
          Out of view: bring it back (F)
        </button>
      )}
    </>
  );
}
