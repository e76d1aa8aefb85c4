/**
 * Takes the screenshots of docs/guide/viewer.md, of pages of the built-in digits: `npm run screenshots`. LOWLAND and CHROMIUM are the paths of the program and of the
 * browser, if they are not those of the tests.
 */

import { resolve } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { closePage, hover, lowland, openPage, startBrowser, stopBrowser, withLivePage } from "./pages";

const images = resolve("../docs/images");

async function save(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(800);
  await page.screenshot({ path: `${images}/${name}.png` });
}

test("screenshots of pages", { timeout: 600_000 }, async () => {
  lowland("compare", "digits", "--methods", "tsne,umap,lvm,pca", "--quiet", "--maps", ".", "--out", "compare.html");
  lowland("plot", "tsne.csv", "lvm.csv", "--data", "digits", "--names", "t-SNE,LVM", "--quiet", "--out", "two.html");
  lowland("plot", "tsne.csv", "--data", "digits", "--title", "t-SNE of the digits", "--quiet", "--out", "digits.html");
  await startBrowser();
  try {
    let page = await openPage("digits.html", { dark: true });
    // A point that keeps about half of its true neighbors, and whose lost ones are farthest away.
    const point = await page.evaluate(() => {
      const { data, panes } = window.lowland;
      const { kept } = data.maps[0];
      const { lists, shown } = data.neighbors!;
      const distance = (point: number, other: number) => Math.hypot(panes[0].screen(point).x - panes[0].screen(other).x, panes[0].screen(point).y - panes[0].screen(other).y);
      const farthest = (point: number) => Math.max(...Array.from({ length: shown }, (_, at) => distance(point, lists![point * shown + at])));
      const count = (bits: number) => bits.toString(2).replaceAll("0", "").length;
      const half = Array.from(kept!.keys()).filter((point) => count(kept![point]) >= 6 && count(kept![point]) <= 8);
      return half.reduce((best, point) => (farthest(point) > farthest(best) ? point : best));
    });
    await hover(page, point);
    await save(page, "viewer-digits");
    await closePage(page);

    page = await openPage("compare.html");
    await save(page, "viewer-compare");
    await closePage(page);

    page = await openPage("two.html");
    await page.evaluate(() => {
      const { data, store } = window.lowland;
      const [label] = data.columns;
      if (label.kind !== "class") throw new Error("classes");
      const flags = Uint8Array.from(label.codes, (code) => Number(["3", "8"].includes(label.names[code])));
      store.set({ selection: { flags, count: flags.reduce((sum, flag) => sum + flag, 0) } });
    });
    await page.getByRole("table", { name: /distinguishes/ }).scrollIntoViewIfNeeded();
    await save(page, "viewer-selection");
    await closePage(page);

    const fit = ["embed", "digits", "--method", "tsne", "--max-iter", "100000", "--tol", "0", "--live", "--json", "--out", "live.csv"];
    await withLivePage(fit, async (address) => {
      const live = await openPage(address);
      await live.getByText(/Iteration [2-9]\d\d/).waitFor({ timeout: 120_000 });
      await save(live, "viewer-live");
      await closePage(live);
    });
  } finally {
    await stopBrowser();
  }
});
