// How far a file is.

import { progress, send } from "../store";
import { THIN, count } from "./format";

function left(seconds: number | null): string {
  if (seconds === null) return "";
  return seconds < 90 ? ` · ${Math.max(1, Math.round(seconds))}${THIN}s left` : ` · ${Math.round(seconds / 60)}${THIN}min left`;
}

export function ProgressLine() {
  const now = progress.value;
  return (
    <div role="status" aria-live="off">
      {now && (
        <div class="progress">
          <label for="progress">
            {now.label}: {count(now.done)} of {count(now.total)}
            {left(now.seconds_left)}
          </label>
          <progress id="progress" max={now.total} value={now.done} />
          <button type="button" id="cancel_save" onClick={() => send({ type: "cancel" })}>
            Cancel
          </button>
        </div>
      )}
    </div>
  );
}
