// The panel: everything beside the view, and what is written over it.

import { render } from "preact";

import "../style.css";
import { hello, state, theme } from "../store";
import { ColouringSection } from "./colouring";
import { EditingSection } from "./editing";
import { helpOpen } from "./actions";
import { HandSection } from "./hand";
import { Help } from "./help";
import { Chevron, Moon, Question, Sun } from "./icons";
import { Overlay } from "./overlay";
import { startThrottle } from "./throttle";
import { startHistory } from "./plots/history";
import { RecordingSection } from "./recording";
import { SceneSection } from "./scene";
import { has, live } from "./settings";
import { Handle, isSheet, open, startSheet, toggle } from "./sheet";
import { listen } from "./shortcuts";
import { SolverSection } from "./solver";
import { startTheme, toggleTheme } from "./theme";
import { Transport } from "./transport";
import { GalleryDialog } from "./gallery/gallery";
import { startGallery } from "./gallery/open";
import { startView, ViewSection } from "./view";

function Masthead() {
  const dark = theme.value === "dark";
  return (
    <header class="masthead">
      <h1>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M3 8c4.5-2.6 8.5 2.6 13 0s8.5-2.6 13 0c0 10.4-6.5 18.2-13 18.2S3 18.4 3 8z" />
        </svg>
        Vivace
      </h1>
      <button type="button" id="theme" class="quiet" onClick={toggleTheme} title="Dark and light (D)">
        {dark ? <Sun /> : <Moon />}
        <span class="visually-hidden">{dark ? "Light theme" : "Dark theme"}</span>
      </button>
      <button type="button" id="help_open" class="quiet" onClick={() => (helpOpen.value = true)} title="Help (?)">
        <Question />
        <span class="visually-hidden">Help</span>
      </button>
      <button type="button" id="collapse" class="quiet" aria-expanded={open.value} aria-controls="controls" onClick={toggle}>
        <Chevron />
        <span class="visually-hidden">All controls</span>
      </button>
    </header>
  );
}

function Controls() {
  const ready = hello.value !== null && state.value !== null;
  return (
    <div id="controls" class="controls" hidden={!open.value}>
      {isSheet.value && <Masthead />}
      {ready ? (
        <fieldset class="bare" disabled={!live.value}>
          <SceneSection />
          <HandSection />
          <EditingSection />
          {has("colour_by") && <ColouringSection />}
          <ViewSection />
          <RecordingSection />
          <SolverSection />
        </fieldset>
      ) : (
        <p class="waiting hint">Controls appear as soon as there is a simulation.</p>
      )}
    </div>
  );
}

function Panel() {
  return (
    <>
      {isSheet.value ? <Handle /> : <Masthead />}
      <Transport />
      <Controls />
      <Help />
      <GalleryDialog />
    </>
  );
}

/** Fill #panel and #overlay, and listen to the keyboard. */
export function mountPanel(): void {
  startTheme();
  startView();
  startSheet();
  startThrottle();
  startHistory();
  startGallery();
  listen();
  render(<Overlay />, document.getElementById("overlay")!);
  render(<Panel />, document.getElementById("panel")!);
}
