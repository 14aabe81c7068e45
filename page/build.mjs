// Bundles the page into the Python package: `node build.mjs`, or with --watch while working on it.

import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "vivace", "viewer", "page");
const watching = process.argv.includes("--watch");

/** The folders of the packages that went into the bundle. */
function bundled(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const parts = input.split(/[\\/]/);
    const at = parts.lastIndexOf("node_modules");
    if (at >= 0) names.add(parts.slice(at + 1, at + (parts[at + 1].startsWith("@") ? 3 : 2)).join("/"));
  }
  return [...names].sort();
}

/** Their licences ask to travel with them. */
async function licences(names) {
  const texts = [];
  for (const name of names) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    if (!file) throw new Error(`${name} comes without the text of its licence`);
    const text = (await readFile(join(folder, file), "utf8")).trim();
    texts.push(`${name} ${version} (${license})\n${"=".repeat(72)}\n\n${text}\n`);
  }
  return "The page of the viewer contains these packages.\n\n" + texts.join("\n\n");
}

const finish = {
  name: "finish",
  setup(build) {
    build.onEnd(async (result) => {
      if (result.errors.length) return;
      await writeFile(join(target, "licences.txt"), await licences(bundled(result.metafile)));
      for (const file of await readdir(join(here, "gallery"))) {
        if (file.endsWith(".webp")) await copyFile(join(here, "gallery", file), join(target, file));
      }
      // Last, and after the rest: whoever asks whether the page is up to date looks at it.
      await copyFile(join(here, "index.html"), join(target, "index.html"));
      for (const [file, { bytes }] of Object.entries(result.metafile.outputs)) {
        console.log(`${relative(join(here, ".."), join(here, file)).split(sep).join("/")}  ${Math.round(bytes / 1024)} KB`);
      }
    });
  },
};

await mkdir(target, { recursive: true });
const context = await esbuild.context({
  absWorkingDir: here,
  entryPoints: { app: "src/main.ts" },
  outdir: target,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: !watching,
  sourcemap: watching ? "inline" : false,
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  logLevel: "warning",
  plugins: [finish],
});
if (watching) {
  await context.watch();
} else {
  await context.rebuild();
  await context.dispose();
}
