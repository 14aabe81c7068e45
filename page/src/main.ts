// Where the page begins: the panel, the stage, and the line to the server.

import { connect } from "./connection";
import { mountPanel } from "./panel/panel";
import { startLinks } from "./restoring";
import { startStage } from "./stage/start";
import { frame, scene, send } from "./store";

mountPanel();
startLinks();
connect(
  startStage() ?? {
    // Without a picture the numbers still come.
    scene: ({ header }) => (scene.value = header),
    frame: ({ header }) =>
      requestAnimationFrame(() => {
        frame.value = header;
        send({ type: "drawn", frame: header.frame });
      }),
  },
);
