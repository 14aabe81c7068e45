// The line to the server: text messages go into the store, binary ones to whoever draws.

import type { Download, FrameData, FromPage, SceneData, ToPage } from "./messages";
import { isScene, unpack, type Message } from "./packing";
import { key as token } from "./restoring";
import { connectionActions, edited, ghost, hello, link, notify, progress, refusal, sendWith, stageActions, starting, state } from "./store";

const FIRST_DELAY = 500; // ms before the first new try; each later one waits twice as long
const LONGEST_DELAY = 5000;
const BLOCKED = 3; // sockets that fail although the server lets us in: something in between does not pass them
const COME_AGAIN = 1012; // the page was there first, and now the simulation is
const SOON = 120; // ms
const CUT_OFF = 1008; // the server has had enough of this page

interface Receiver {
  scene(message: Message<SceneData>): void;
  frame(message: Message<FrameData>): void;
}


/** Relative to where the page is, so that it may stand behind a proxy under any path. */
export function beside(path: string): URL {
  const url = new URL(path.replace(/^\/+/, ""), new URL(".", location.href));
  url.searchParams.set("token", token);
  url.hash = "";
  return url;
}

function download(file: Download): void {
  const anchor = document.createElement("a");
  anchor.href = beside(file.path).href;
  anchor.download = file.name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
}

function hear(message: ToPage): void {
  switch (message.type) {
    case "ghost":
      ghost.value = message;
      break;
    case "starting":
      starting.value = message;
      break;
    case "hello":
      starting.value = null;
      ghost.value = null;
      hello.value = message;
      break;
    case "state":
      state.value = message;
      break;
    case "notice":
      notify(message.level, message.text);
      break;
    case "edited":
      edited.value = message.text;
      break;
    case "slipped":
      stageActions.slipped(message.pointer);
      notify("info", message.text);
      break;
    case "progress":
      progress.value = message.total ? message : null;
      break;
    case "download":
      download(message);
      break;
  }
}

/** Why the server refuses us; "" if it does not, null if it does not answer. A socket that fails does not say why. */
async function whyNot(): Promise<string | null> {
  const url = beside("check");
  url.searchParams.set("origin", location.origin);
  try {
    const answer = await fetch(url, { cache: "no-store" });
    return answer.ok ? "" : answer.status === 403 ? await answer.text() : null;
  } catch {
    return null;
  }
}

/** Connect, and again whenever the connection is lost, unless the server is there and does not want us. */
export function connect(receiver: Receiver): void {
  let socket: WebSocket | null = null;
  let delay = FIRST_DELAY;
  let ever = false;
  let blocked = 0;

  function refuse(why: string): void {
    refusal.value = { why, before: ever };
    link.value = "refused";
  }

  function later(): void {
    link.value = ever ? "lost" : "connecting";
    window.setTimeout(open, delay);
    delay = Math.min(2 * delay, LONGEST_DELAY);
  }

  function open(): void {
    const address = beside("socket");
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    let heard = false; // some proxies open the socket before they have asked the server
    socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (!heard) {
        heard = ever = true;
        delay = FIRST_DELAY;
        blocked = 0;
        link.value = "open";
      }
      if (typeof data === "string") return hear(JSON.parse(data) as ToPage);
      const message = unpack(data);
      if (isScene(message)) receiver.scene(message);
      else receiver.frame(message);
    };
    socket.onclose = async ({ code, reason }) => {
      if (code === CUT_OFF) return refuse(`the server has closed the connection: ${reason}`);
      if (code === COME_AGAIN) return void window.setTimeout(open, SOON);
      if (heard) return later();
      const why = await whyNot();
      if (why) return refuse(why);
      blocked = why === "" ? blocked + 1 : 0;
      if (blocked >= BLOCKED) {
        return refuse("the server answers, but the page's socket does not reach it; what stands in between must pass WebSockets");
      }
      later();
    };
  }

  sendWith((message: FromPage) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  });
  connectionActions.again = () => {
    blocked = 0;
    delay = FIRST_DELAY;
    link.value = ever ? "lost" : "connecting";
    open();
  };
  // Another key after the #, and the browser would leave everything as it is.
  window.addEventListener("hashchange", () => {
    const other = new URLSearchParams(location.hash.slice(1)).get("token");
    if (other && other !== token) location.reload(); // a link without a key is for this page
  });
  open();
}
