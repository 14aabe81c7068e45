// Recordings, stills and scene files.

import { captured, kind, toggleCapture } from "../stage/capture";
import { hello, progress, state } from "../store";
import { recordingFormat, saveRecording, saveScene, still, toggleRecording } from "./actions";
import { Section } from "./fields";
import { THIN, count, fixed } from "./format";
import { Film } from "./icons";
import { Replay } from "./replay";
import { live } from "./settings";
import { Link, Pose } from "./share";

/** What one sees, as the browser draws it. */
function Screen() {
  const now = captured.value;
  const size = now ? `${fixed(now.seconds, 1)}${THIN}s · ${fixed(now.bytes / 1e6, 1)}${THIN}MB` : "As you see it";
  if (!kind()) return null;
  return (
    <div class="recording">
      <button type="button" id="record_view" class="record" data-on={now !== null} onClick={toggleCapture}>
        <i aria-hidden="true" />
        {now ? "Stop and save" : "Record view"}
      </button>
      <p class="recording-length">{size}</p>
    </div>
  );
}

export function RecordingSection() {
  const recording = state.value?.recording ?? false;
  const frames = state.value?.recorded_frames ?? 0;
  const seconds = state.value?.recorded_seconds ?? 0;
  const off = !live.value;
  const length = `${count(frames)} ${frames === 1 ? "frame" : "frames"} · ${fixed(seconds, 1)}${THIN}s`;
  return (
    <Section id="recording" title="Record and save">
      <div class="recording">
        <button type="button" id="record" class="record" data-on={recording} disabled={off} onClick={toggleRecording}>
          <i aria-hidden="true" />
          {recording ? "Stop" : "Record"}
        </button>
        <p class="recording-length">{recording || frames > 0 ? length : "Nothing recorded yet"}</p>
      </div>
      <div class="row wrap">
        <div class="select grow">
          <label for="recording_format" class="visually-hidden">
            Format of the recording
          </label>
          <select
            id="recording_format"
            name="recording_format"
            value={recordingFormat.value}
            onChange={(event) => (recordingFormat.value = event.currentTarget.value)}
          >
            {(hello.value?.recording_formats ?? []).map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </div>
        <button type="button" id="save_recording" disabled={off || recording || frames === 0 || progress.value !== null} onClick={saveRecording}>
          <Film /> Save recording
        </button>
      </div>
      <Replay />
      <Screen />
      <Pose />
      <div class="row halves">
        <button type="button" id="save_still" onClick={still}>
          Save still
        </button>
        <button type="button" id="save_scene" disabled={off} onClick={saveScene}>
          Save scene
        </button>
      </div>
      <p class="hint">A film is drawn from where you look. The scene is saved as TOML, for vivace run.</p>
      <Link />
    </Section>
  );
}
