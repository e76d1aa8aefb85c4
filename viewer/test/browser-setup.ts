/** Creates the pages of the browser tests and starts the browser. */

import { after, before } from "node:test";
import strings from "./hostile.json";
import { lowland, startBrowser, stopBrowser, writeTestFile } from "./pages";

/** Text that must never be executed or parsed as markup; the tests of the Python package use it too. */
export const HOSTILE: string[] = [...strings, "long ".repeat(2000)];

before(async () => {
  lowland("embed", "digits", "--method", "lvm", "--quiet", "--out", "digits.html", "--out", "lvm.csv");
  lowland("embed", "digits", "--method", "pca", "--no-quality", "--quiet", "--out", "pca.csv");
  lowland("plot", "lvm.csv", "pca.csv", "--data", "digits", "--quiet", "--out", "two.html");
  lowland("embed", "swiss-roll", "--n-points", "500", "--n-components", "3", "--method", "pca", "--quiet", "--out", "deep.html");
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const rows = Array.from({ length: 40 }, (_, i) => {
    const text = HOSTILE[i % HOSTILE.length];
    return [quoted(`${i} ${text}`), Math.cos(i), Math.sin(i), i % 5, quoted(text)].join(",");
  });
  writeTestFile("hostile.csv", `name,<b>a</b>,b,c,kind\n${rows.join("\n")}\n`);
  lowland("embed", "hostile.csv", "--id-column", "name", "--label-column", "kind", "--method", "pca", "--quiet", "--out", "hostile.html", "--out", "hostile-map.csv");
  await startBrowser();
});

after(stopBrowser);
