// The gallery: scenes with pictures, fabrics, and a place to drop a mesh of one's own.

import type { TargetedDragEvent, TargetedEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { hello, send, state } from "../../store";
import { Cross } from "../icons";
import { sentence } from "../format";
import { values } from "../material";
import { change, has, settings } from "../settings";
import { closeGallery, galleryOpen } from "./open";
import { KNOWN, grouped, titleOf } from "./scenes";
import { MOST_MB, endings, sending, trouble, upload } from "./upload";

function take(files: FileList | null | undefined): void {
  const file = files?.[0];
  if (file) void upload(file).then((taken) => taken && closeGallery());
}

function Drop() {
  const [over, setOver] = useState(false);
  const now = sending.value;
  const kinds = endings.value.map((one) => one.slice(1).toUpperCase()).join(", ");
  const drop = (event: TargetedDragEvent<HTMLLabelElement>) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files);
  };
  return (
    <section aria-labelledby="own-title">
      <h3 id="own-title">Your own mesh</h3>
      <label
        class="drop"
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <input
          type="file"
          id="mesh_file"
          accept={endings.value.join(",")}
          disabled={now !== null}
          aria-describedby="mesh_file-hint"
          onChange={(event: TargetedEvent<HTMLInputElement>) => {
            take(event.currentTarget.files);
            event.currentTarget.value = ""; // the same file again is a change, too
          }}
        />
        <b>{now ? `Reading ${now.name}…` : "Drop a mesh here, or choose a file"}</b>
        <span class="hint" id="mesh_file-hint">
          {kinds}, at most {MOST_MB} MB. What is closed becomes jelly, shell or cloth; what is open, cloth or shell.
        </span>
        {now && <progress value={now.share} max={1} aria-label="Sent" />}
      </label>
      <p class="trouble" role="alert">
        {trouble.value}
      </p>
    </section>
  );
}

function Picture({ name }: { name: string }) {
  const [missing, setMissing] = useState(false);
  if (missing) return <span class="card-blank" aria-hidden="true" />;
  return <img src={`${name}.webp`} alt="" width={240} height={160} loading="lazy" onError={() => setMissing(true)} />;
}

function Scenes() {
  const now = state.value?.scene;
  return (
    <>
      {grouped(hello.value?.scenes ?? []).map(([title, scenes]) => (
        <section key={title}>
          <h3>{title}</h3>
          <ul class="cards">
            {scenes.map(({ name, summary }) => (
              <li key={name}>
                <button
                  type="button"
                  class="card"
                  data-scene={name}
                  aria-current={name === now}
                  title={sentence(summary)}
                  onClick={() => {
                    send({ type: "load_scene", name });
                    closeGallery();
                  }}
                >
                  {KNOWN.has(name) ? <Picture name={`scene-${name}`} /> : <span class="card-blank" aria-hidden="true" />}
                  <span>{titleOf(name)}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Fabrics() {
  const fabrics = hello.value?.fabrics ?? [];
  const able = has("fabric");
  return (
    <section aria-labelledby="fabrics-title">
      <h3 id="fabrics-title">Fabrics</h3>
      {!able && <p class="hint">For cloth: choose a scene of it first.</p>}
      <ul class="cards">
        {fabrics.map((one) => (
          <li key={one.name}>
            <button
              type="button"
              class="card"
              data-fabric={one.name}
              disabled={!able}
              aria-pressed={settings.value?.fabric === one.name}
              title={`${sentence(one.summary)} ${values(one)}`}
              onClick={() => {
                change("fabric", one.name);
                closeGallery();
              }}
            >
              <Picture name={`fabric-${one.name}`} />
              <span>{one.name}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function GalleryDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = galleryOpen.value;
  useEffect(() => {
    const element = dialog.current;
    if (!element || element.open === open) return;
    if (open) {
      trouble.value = "";
      element.showModal();
    } else element.close();
  }, [open]);
  return (
    <dialog
      id="gallery"
      class="gallery"
      ref={dialog}
      aria-labelledby="gallery-title"
      onClose={closeGallery}
      onClick={(event) => {
        if (event.target === event.currentTarget) closeGallery(); // beside the sheet
      }}
    >
      {open && (
        <div class="gallery-body">
          <header>
            <h2 id="gallery-title">What would you like to pull at?</h2>
            <button type="button" class="quiet" id="gallery_close" onClick={closeGallery}>
              <Cross />
              <span class="visually-hidden">Close the gallery</span>
            </button>
          </header>
          <Drop />
          <Scenes />
          <Fabrics />
        </div>
      )}
    </dialog>
  );
}
