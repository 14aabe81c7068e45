// The pose as a file, and a link to what is seen.

import { signal } from "@preact/signals";

import { address } from "../restoring";
import { hello, notify, send } from "../store";
import { live } from "./settings";

const format = signal("glb");
const withKey = signal(false);
const written = signal("");

async function copy(): Promise<void> {
  written.value = address(withKey.value);
  try {
    await navigator.clipboard.writeText(written.value);
    notify("info", "The link is copied.");
  } catch {
    notify("info", "The browser does not let the page copy: take the link from the field.");
  }
}

export function Pose() {
  const formats = hello.value?.pose_formats ?? [];
  return (
    <div class="row">
      <div class="select grow">
        <label for="pose_format" class="visually-hidden">
          Format of the pose
        </label>
        <select
          id="pose_format"
          name="pose_format"
          value={format.value}
          onChange={(event) => (format.value = event.currentTarget.value)}
        >
          {formats.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </div>
      <button
        type="button"
        id="save_pose"
        disabled={!live.value}
        onClick={() => send({ type: "save", what: "pose", format: format.value })}
      >
        Save pose
      </button>
    </div>
  );
}

export function Link() {
  return (
    <>
      <div class="row">
        <button type="button" id="copy_link" class="grow" disabled={!live.value} onClick={() => void copy()}>
          Copy link
        </button>
        <label class="check">
          <input
            type="checkbox"
            id="link_key"
            checked={withKey.value}
            onChange={(event) => (withKey.value = event.currentTarget.checked)}
          />
          With the key
        </label>
      </div>
      {written.value && (
        <input
          type="text"
          id="link_text"
          class="link-text"
          aria-label="The link"
          readOnly
          value={written.value}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
      <p class="hint">
        It restores scene, settings and view. Without the key it opens where the page is open already; with it, whoever has
        the link can take part.
      </p>
    </>
  );
}
