/** Creates the pages of the browser tests and starts the browser. */

import { after, before } from "node:test";
import { lowland, startBrowser, stopBrowser, writeTestFile } from "./pages";

/** Text that must never be executed or parsed as markup. */
export const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 2'>",
  `</script><script>window.hacked = 3</script>`,
  `"quotes' and \`ticks\` \${window.hacked = 4}`,
  "\u202Eright to left \u05E9\u05DC\u05D5\u05DD \u0645\u0631\u062D\u0628\u0627",
  "long ".repeat(2000),
  "<!-- <![CDATA[ ]]> &lt;b&gt; \\u003c",
];

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
