// A recording, back and forth.

import { send, state } from "../store";
import { Slider } from "./fields";
import { fixed } from "./format";
import { live } from "./settings";

export function show(frame: number | null, resume = false): void {
  send({ type: "replay", frame, resume });
}

export function Replay() {
  const now = state.value;
  if (!now || now.recording || now.recorded_frames < 2) return null;
  const { replay, recorded_frames: frames, recorded_seconds: seconds } = now;
  const last = frames - 1;
  return (
    <>
      <Slider
        id="replay_frame"
        label="Look at frame"
        told={replay ?? last}
        min={0}
        max={last}
        step={1}
        text={(value) => [`${value + 1}`, `of ${frames} · ${fixed(((value + 1) * seconds) / frames, 2)} s`]}
        hint={replay === null ? undefined : "The recording is shown; the simulation waits."}
        ask={(value) => show(Math.round(value))}
      />
      {replay !== null && (
        <div class="row halves">
          <button type="button" id="replay_end" disabled={!live.value} onClick={() => show(null)}>
            Back to live
          </button>
          <button type="button" id="replay_resume" disabled={!live.value} onClick={() => show(replay, true)}>
            Go on from here
          </button>
        </div>
      )}
    </>
  );
}
