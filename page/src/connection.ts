// The line to the server: text messages go into the store, binary ones to whoever draws.

import type { Download, FrameData, FromPage, SceneData, ToPage } from "./messages";
import { isScene, unpack, type Message } from "./packing";
import { hello, link, notify, sendWith, state } from "./store";

const FIRST_DELAY = 500; // ms before the first new try; each later one waits twice as long
const LONGEST_DELAY = 5000;
const REFUSALS = 2; // handshakes that fail before there ever was a connection: no server that knows us is there
const NOT_FOR_US = [1008, 4403];

interface Receiver {
  scene(message: Message<SceneData>): void;
  frame(message: Message<FrameData>): void;
}

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

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
    case "hello":
      hello.value = message;
      break;
    case "state":
      state.value = message;
      break;
    case "notice":
      notify(message.level, message.text);
      break;
    case "download":
      download(message);
      break;
  }
}

/** Connect, and again whenever the connection is lost. */
export function connect(receiver: Receiver): void {
  let socket: WebSocket | null = null;
  let delay = FIRST_DELAY;
  let ever = false;
  let refusals = 0;

  function open(): void {
    const address = beside("socket");
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      ever = true;
      delay = FIRST_DELAY;
      link.value = "open";
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") return hear(JSON.parse(data) as ToPage);
      const message = unpack(data);
      if (isScene(message)) receiver.scene(message);
      else receiver.frame(message);
    };
    socket.onclose = ({ code }) => {
      if (!ever) refusals += 1;
      if (NOT_FOR_US.includes(code) || refusals >= REFUSALS) {
        link.value = "refused";
        return;
      }
      link.value = ever ? "lost" : "connecting";
      window.setTimeout(open, delay);
      delay = Math.min(2 * delay, LONGEST_DELAY);
    };
  }

  sendWith((message: FromPage) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  });
  open();
}
