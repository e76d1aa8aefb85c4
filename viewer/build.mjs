// Builds the page, verifies the committed one, or runs tests.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../crates/lowland-view/assets/page.html");

async function bundle(entry) {
  const options = { bundle: true, minify: true, write: false, format: "iife", target: "es2022", charset: "utf8" };
  const result = await build({ ...options, entryPoints: [join(here, "src", entry)], legalComments: "none" });
  return result.outputFiles[0].text.trim();
}

/** Hash of an inline script or style for the content security policy. */
const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

async function buildPage() {
  const [script, style] = [await bundle("main.ts"), await bundle("style.css")];
  if (/<\/(script|style)|<!--/i.test(script + style)) throw new Error("the bundle contains a tag that would end its element");
  const parts = { script, style, scriptHash: digest(script), styleHash: digest(style) };
  const template = readFileSync(join(here, "src/page.html"), "utf8");
  // With a replacement function, "$&" in the bundle has no special meaning.
  return template.replace(/\{\{(script|style|scriptHash|styleHash)\}\}/g, (_, name) => parts[name]);
}

async function test(kind) {
  const out = join(here, "out", `${kind}.test.mjs`);
  const entry = join(here, "test", `${kind}.ts`);
  const external = ["playwright-core"];
  await build({ entryPoints: [entry], outfile: out, bundle: true, platform: "node", format: "esm", external });
  return spawnSync(process.execPath, ["--test", "--test-reporter=spec", out], { stdio: "inherit" }).status ?? 1;
}

const [mode, kind] = process.argv.slice(2);
if (mode === "--test") {
  process.exit(await test(kind));
} else if (mode === "--verify") {
  if (readFileSync(target, "utf8") !== (await buildPage())) {
    console.error("crates/lowland-view/assets/page.html is out of date; run `cargo xtask viewer`");
    process.exit(1);
  }
} else {
  mkdirSync(dirname(target), { recursive: true });
  const html = await buildPage();
  writeFileSync(target, html);
  console.log(`page.html: ${(html.length / 1024).toFixed(1)} KiB`);
}
