// The help: keys, gestures, and a switch for the keys.

import { useEffect, useRef } from "preact/hooks";

import { hello } from "../store";
import { helpOpen } from "./actions";
import { Cross } from "./icons";
import { GESTURES, SHORTCUTS, keysOn, setKeys } from "./shortcuts";

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    const element = dialog.current;
    if (!element || element.open === open) return;
    if (open) element.showModal();
    else element.close();
  }, [open]);
  return (
    <dialog
      id="help"
      ref={dialog}
      aria-labelledby="help-title"
      onClose={() => (helpOpen.value = false)}
      onClick={(event) => {
        if (event.target === event.currentTarget) helpOpen.value = false; // beside the sheet
      }}
    >
      <div class="help">
        <header>
          <h2 id="help-title">Keys and gestures</h2>
          <button type="button" class="quiet" id="help_close" onClick={() => (helpOpen.value = false)}>
            <Cross />
            <span class="visually-hidden">Close help</span>
          </button>
        </header>
        <h3>On the view</h3>
        <dl>
          {GESTURES.map(([gesture, what]) => (
            <div key={gesture}>
              <dt>{gesture}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <h3>Keys</h3>
        <dl class="keys-list">
          {SHORTCUTS.map(({ shown, what }) => (
            <div key={what}>
              <dt>
                {shown.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            id="keys"
            checked={keysOn.value}
            onChange={(event) => setKeys(event.currentTarget.checked)}
          />
          Single keys are shortcuts
        </label>
        {hello.value && <p class="hint">Vivace {hello.value.version}</p>}
      </div>
    </dialog>
  );
}
