// Takes, stills and scene files.

import { TAKE_FORMAT, type TakeFormat } from "../messages";
import { state } from "../store";
import { saveScene, saveTake, still, takeFormat, toggleTake } from "./deeds";
import { Section } from "./fields";
import { THIN, count, fixed } from "./format";
import { Film } from "./icons";
import { live } from "./settings";

const FORMATS: Record<TakeFormat, string> = {
  mp4: "MP4 film",
  gif: "GIF film",
  npz: "NPZ positions",
};

export function TakeSection() {
  const recording = state.value?.recording ?? false;
  const frames = state.value?.take_frames ?? 0;
  const seconds = state.value?.take_seconds ?? 0;
  const off = !live.value;
  const length = `${count(frames)} ${frames === 1 ? "frame" : "frames"} · ${fixed(seconds, 1)}${THIN}s`;
  return (
    <Section id="take" title="Record and save">
      <div class="take">
        <button type="button" id="take" class="record" data-on={recording} disabled={off} onClick={toggleTake}>
          <i aria-hidden="true" />
          {recording ? "Stop" : "Record"}
        </button>
        <p class="take-length">{recording || frames > 0 ? length : "No take yet"}</p>
      </div>
      <div class="row">
        <div class="select grow">
          <label for="take_format" class="visually-hidden">
            Format of the take
          </label>
          <select
            id="take_format"
            name="take_format"
            value={takeFormat.value}
            onChange={(event) => (takeFormat.value = event.currentTarget.value as TakeFormat)}
          >
            {TAKE_FORMAT.map((format) => (
              <option key={format} value={format}>
                {FORMATS[format]}
              </option>
            ))}
          </select>
        </div>
        <button type="button" id="save_take" disabled={off || recording || frames === 0} onClick={saveTake}>
          <Film /> Save take
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
      <p class="hint">A take is filmed from where you look. The scene is saved as TOML, for vivace run.</p>
    </Section>
  );
}
