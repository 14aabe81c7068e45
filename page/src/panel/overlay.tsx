// What is written over the view: whose simulation is where, what is being prepared, notices and the connection.

import { viewports } from "../stage/layout";
import { connectionActions, dismiss, handSays, link, notices, refusal, starting, state, type Link } from "../store";
import { THIN, count, fixed, percent } from "./format";
import { rigid, settings } from "./settings";
import { GhostLine } from "./ghost";
import { Cross } from "./icons";
import { Hints, Measuring } from "./measuring";
import { ProgressLine } from "./progress";
import { slowFrame } from "./throttle";

function Labels() {
  const views = slowFrame.value?.views ?? [];
  const places = viewports.value;
  return (
    <>
      {views.map((view, k) => {
        const place = places[k];
        if (!place) return null;
        const style = { left: `${place.x}px`, top: `${place.y}px`, maxWidth: `${place.width}px` };
        return (
          <div key={k} class="view-label" style={style}>
            <p>
              <b>
                {views.length > 1 && <i class={k ? "key b" : "key a"} aria-hidden="true" />}
                {view.solver}
              </b>
              <span>
                {rigid.value
                  ? `${count(view.contacts)} contacts · ${fixed(1000 * (view.depth ?? 0), 2)}${THIN}mm overlap`
                  : `${count(view.sweeps)} ${view.sweeps === 1 ? "sweep" : "sweeps"} · ${percent(view.stretch[0])} stretch`}
              </span>
            </p>
          </div>
        );
      })}
      {views.length > 1 && places[1] && (
        <div
          class="divider"
          style={
            places[1].x > 0
              ? { left: `${places[1].x - 2}px`, top: 0, width: "2px", height: "100%" }
              : { left: 0, top: `${places[1].y - 2}px`, width: "100%", height: "2px" }
          }
        />
      )}
    </>
  );
}

/** Slower than the clock, and why. Not announced: the numbers change all the time. */
function SlowMotion() {
  const now = slowFrame.value;
  if (!now?.slow || settings.value?.paused) return null;
  return (
    <p class="slow" id="slow">
      <b>{fixed(now.speed, now.speed < 0.095 ? 2 : 1)}× real time:</b> {now.slow}
    </p>
  );
}

function Busy() {
  const busy = state.value?.busy ?? "";
  const text = busy && (/^[a-z]+ing\b/.test(busy) ? busy : `preparing ${busy}`);
  return <div role="status">{text && <p class="busy">{text.replace(/…$/, "")}…</p>}</div>;
}

/** For those who grab by keyboard. */
function HandWords() {
  return <div role="status">{handSays.value && <p class="busy still">{handSays.value}</p>}</div>;
}

function Notices() {
  return (
    <ul class="notices" aria-live="polite" aria-label="Notices">
      {notices.value.map((notice) => (
        <li key={notice.id} class={notice.level}>
          <p>
            {notice.level === "error" && <b>Problem: </b>}
            {notice.text}
          </p>
          <button type="button" class="quiet" onClick={() => dismiss(notice.id)}>
            <Cross />
            <span class="visually-hidden">Dismiss</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

const WORDS: Record<Exclude<Link, "open" | "refused">, [string, string]> = {
  connecting: ["Connecting…", "Waiting for vivace to answer."],
  lost: ["Connection lost", "Trying again by itself. If vivace view was stopped, start it again."],
};

/** The server is there and does not want this page: what it says, and what to do. */
function Refused() {
  const { why, before } = refusal.value;
  const key = /key/.test(why);
  return (
    <div>
      <p class="link-title">{key && before ? "The key has changed" : "Not let in"}</p>
      <p>
        {key && before
          ? "vivace view was started again, and has a new key. Open the address that its terminal prints."
          : `${why.charAt(0).toUpperCase()}${why.slice(1)}.`}
      </p>
      {key && (
        <>
          <code>http://127.0.0.1:…/#token=…</code>
          <p class="hint">To keep one key from start to start: vivace view --key-file FILE</p>
        </>
      )}
      <p>
        <button type="button" id="again" onClick={() => connectionActions.again()}>
          Try again
        </button>
      </p>
    </div>
  );
}

/** The server is there, and the simulation is not yet. */
function Preparing() {
  const now = starting.value;
  if (!now) return null;
  const { text, done, total, failed } = now;
  const [what, detail] = failed ? [text, ""] : text.split(/: (.*)/s);
  const parts = done == null ? "" : total == null ? `${done} so far` : `${done} of about ${total}`;
  return (
    <div>
      <p class="link-title">{failed ? "Vivace cannot start" : "Getting ready…"}</p>
      <p class={failed ? "failed" : undefined}>{`${what.charAt(0).toUpperCase()}${what.slice(1)}`}</p>
      {!failed && (
        <div class="starting-bar" data-unknown={done == null || total == null}>
          <i style={done != null && total != null ? { width: `${Math.min(100, (100 * done) / total)}%` } : undefined} />
        </div>
      )}
      {/* Not announced: readers would hear every number. */}
      <p class="hint" aria-hidden="true">
        {detail && `${detail} · `}
        {parts || "\u00a0"}
      </p>
    </div>
  );
}

function LinkState() {
  const now = link.value === "open" && !state.value ? "connecting" : link.value;
  // The region is there before its words are: readers announce what changes in it.
  return (
    <div role="status">
      {now !== "open" && (
        <div class="link" data-link={now}>
          {now === "refused" ? (
            <Refused />
          ) : starting.value ? (
            <Preparing />
          ) : (
            <div>
              <p class="link-title">{WORDS[now][0]}</p>
              <p>{WORDS[now][1]}</p>
            </div>
          )}
        </div>
      )}
    </div>
  );
}

export function Overlay() {
  return (
    <>
      <Labels />
      <Measuring />
      <LinkState />
      <div class="foot">
        <Hints />
        <Notices />
        <HandWords />
        <SlowMotion />
        <GhostLine />
        <ProgressLine />
        <Busy />
      </div>
    </>
  );
}
