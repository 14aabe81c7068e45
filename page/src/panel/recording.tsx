// Recordings, stills and scene files.

import { RECORDING_FORMAT, type RecordingFormat } from "../messages";
import { state } from "../store";
import { recordingFormat, saveRecording, saveScene, still, toggleRecording } from "./actions";
import { Section } from "./fields";
import { THIN, count, fixed } from "./format";
import { Film } from "./icons";
import { live } from "./settings";

const FORMATS: Record<RecordingFormat, string> = {
  mp4: "MP4 film",
  gif: "GIF film",
  npz: "NPZ positions",
};

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
      <div class="row">
        <div class="select grow">
          <label for="recording_format" class="visually-hidden">
            Format of the recording
          </label>
          <select
            id="recording_format"
            name="recording_format"
            value={recordingFormat.value}
            onChange={(event) => (recordingFormat.value = event.currentTarget.value as RecordingFormat)}
          >
            {RECORDING_FORMAT.map((format) => (
              <option key={format} value={format}>
                {FORMATS[format]}
              </option>
            ))}
          </select>
        </div>
        <button type="button" id="save_recording" disabled={off || recording || frames === 0} onClick={saveRecording}>
          <Film /> Save recording
        </button>
      </div>
      <div class="row halves">
        <button type="button" id="save_still" onClick={still}>
          Save still
        </button>
        <button type="button" id="save_scene" disabled={off} onClick={saveScene}>
          Save scene
        </button>
      </div>
      <p class="hint">A film is drawn from where you look. The scene is saved as TOML, for vivace run.</p>
    </Section>
  );
}
