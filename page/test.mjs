// Bundles tests/*.test.ts as build.mjs bundles the page, and runs them: `npm test`.

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const tests = (await readdir(join(here, "tests"))).filter((name) => name.endsWith(".test.ts"));
const target = await mkdtemp(join(tmpdir(), "vivace-page-tests-"));
try {
  await esbuild.build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => join("tests", name)),
    outdir: target,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "es2022",
    loader: { ".json": "json" },
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = tests.map((name) => join(target, name.replace(/\.ts$/, ".mjs")));
  const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
} finally {
  await rm(target, { recursive: true, force: true });
}
