/** Browser tests of hostile text: names of points, classes, columns and files in pages of every command, and in pictures. */

import assert from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { HOSTILE } from "./browser-setup";
import { closePage, directory, lowland, openPage, withLivePage, writeTestFile } from "./pages";

/** Checks that text of the data is shown as text: in the legend, and nowhere as an element or a script. */
async function assertHarmless(page: Page): Promise<void> {
  assert.equal(await page.evaluate(() => document.querySelectorAll("#app script, #app img, #app b").length), 0);
  const names = await page.locator(".classes .name").allInnerTexts();
  for (const text of HOSTILE) {
    const wanted = text.slice(0, 20).trim();
    assert.ok(names.some((name) => name.trim().startsWith(wanted)), `${wanted} in ${names}`);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}

test("hostile names, classes and columns are never executed", async () => {
  const page = await openPage("hostile.html");
  await assertHarmless(page);
  for (let point = 0; point < HOSTILE.length; point++) {
    await page.evaluate((at) => window.lowland.reveal(at), point);
    const card = await page.locator(".card h2").innerText();
    const wanted = `${point} ${HOSTILE[point]}`;
    assert.ok(wanted.startsWith(card.replace(/…$/, "").slice(0, 480)), `${card}`);
  }
  assert.equal(await page.evaluate(() => window.lowland.store.state.words), false, "long ids are not shown on the map");
  await page.getByLabel("Names of points").check();
  await page.waitForTimeout(100);
  const box = (await page.locator(".card").boundingBox())!;
  assert.ok(box.height < 760 && box.width < 500, "a long name does not fill the page");
  await page.getByLabel("Search").fill("<script>");
  const scripts = Array.from({ length: 40 }, (_, point) => HOSTILE[point % HOSTILE.length]).filter((text) => text.includes("<script>"));
  await page.getByText(`${scripts.length} found`).waitFor();
  const columns = await page.getByLabel("Color by").locator("option").allInnerTexts();
  assert.ok(columns.includes("<b>a</b>"), `${columns}`);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await closePage(page);
});

/** Names of the points, classes and columns. */
const INPUT = ["hostile.csv", "--id-column", "name", "--label-column", "kind"];

test("hostile names are only text on a live page", async () => {
  const args = ["embed", ...INPUT, "--method", "tsne", "--perplexity", "5", "--max-iter", "1000000", "--tol", "0", "--live", "--json", "--out", "hostile-live.csv"];
  await withLivePage(args, async (address, ended) => {
    const page = await openPage(address);
    await page.getByText(/Iteration/).waitFor();
    await assertHarmless(page);
    await page.evaluate(() => window.lowland.reveal(2));
    assert.ok((await page.locator(".card h2").innerText()).includes(HOSTILE[2]));
    await page.getByRole("button", { name: "Stop and keep the map" }).click();
    assert.equal(await ended, 130);
    await page.getByText(/Stopped; the map is kept/).waitFor();
    await assertHarmless(page);
    await closePage(page);
  });
});

test("hostile names are only text on the pages of compare and trust", async () => {
  lowland("compare", ...INPUT, "--methods", "pca,svd", "--title", HOSTILE[0], "--quiet", "--out", "hostile-compare.html", "--out", "hostile-compare.svg");
  lowland("trust", ...INPUT, "hostile-map.csv", "--n-neighbors", "5", "--quiet", "--out", "hostile-trust.html", "--out", "hostile-trust.svg");
  for (const name of ["hostile-compare", "hostile-trust"]) {
    const page = await openPage(`${name}.html`);
    await assertHarmless(page);
    await page.evaluate(() => window.lowland.reveal(0));
    assert.ok((await page.locator(".card h2").innerText()).includes(HOSTILE[0]), name);
    if (name === "hostile-compare") assert.equal(await page.locator("h1").innerText(), HOSTILE[0]);
    await assertHarmless(page);
    await page.goto(pathToFileURL(join(directory, `${name}.svg`)).href);
    assert.equal(await page.evaluate(() => document.querySelectorAll("script, img, b, foreignObject").length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await closePage(page);
  }
});

test("hostile names are only text on the page of spectrum and in pictures of sequence", async () => {
  lowland("spectrum", ...INPUT, "--perplexity", "5", "--exaggerations", "1,4", "--title", HOSTILE[0], "--quiet", "--out", "hostile-spectrum.html", "--out", "hostile-spectrum.svg");
  copyFileSync(join(directory, "hostile.csv"), join(directory, "hostile <b>later.csv"));
  lowland("sequence", INPUT[0], "hostile <b>later.csv", ...INPUT.slice(1), "--perplexity", "5", "--map-labels", "on", "--quiet", "--out", "hostile-sequence.svg", "--out", "hostile-sequence.pdf");
  const page = await openPage("hostile-spectrum.html");
  await assertHarmless(page);
  await page.evaluate(() => window.lowland.reveal(0));
  assert.ok((await page.locator(".card h2").innerText()).includes(HOSTILE[0]));
  for (const name of ["hostile-spectrum", "hostile-sequence"]) {
    await page.goto(pathToFileURL(join(directory, `${name}.svg`)).href);
    const texts = await page.evaluate(() => Array.from(document.querySelectorAll("text"), (each) => each.textContent ?? ""));
    assert.ok(texts.some((text) => text.startsWith("<script>window.hacked")), `${texts}`);
    assert.equal(await page.evaluate(() => document.querySelectorAll("script, img, b, foreignObject").length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  }
  await closePage(page);
});

test("hostile classes of a palette file are only names", async () => {
  // What follows two slashes is a comment.
  const names = [...HOSTILE.filter((text) => text.length < 100 && !text.includes("//")), "__proto__"];
  writeTestFile("hostile-colors.txt", names.map((name) => `${name} = #102030\n`).join(""));
  lowland("plot", "hostile-map.csv", "--data", "hostile.csv", ...INPUT.slice(1), "--palette", "hostile-colors.txt", "--quiet", "--out", "hostile-palette.html", "--out", "hostile-palette.svg");
  const page = await openPage("hostile-palette.html");
  await assertHarmless(page);
  const colors = await page.evaluate(() => {
    const [label] = window.lowland.data.columns.filter((column) => column.kind === "class");
    if (label.kind !== "class") throw new Error("classes");
    const first = label.names.findIndex((name) => name.startsWith("<script>"));
    return window.lowland.panes[0].coloring.color(label.codes.indexOf(first));
  });
  assert.deepEqual([...colors], [16, 32, 48]);
  await page.goto(pathToFileURL(join(directory, "hostile-palette.svg")).href);
  assert.equal(await page.evaluate(() => document.querySelectorAll("script, img, b, foreignObject").length), 0);
  assert.ok(readFileSync(join(directory, "hostile-palette.svg"), "utf8").includes("#102030"));
  await closePage(page);
});

test("hostile names of files and maps are only text", async () => {
  // A file name cannot contain a slash.
  const names = ["<img src=x onerror='window.hacked=5'>", "]]> & \"quoted\" <b>"];
  names.forEach((name) => copyFileSync(join(directory, "hostile-map.csv"), join(directory, `${name}.csv`)));
  lowland("plot", ...names.map((name) => `${name}.csv`), "--quiet", "--out", "hostile-files.html", "--out", "hostile-files.svg");
  const page = await openPage("hostile-files.html");
  const titles = await page.locator(".pane-title strong").allInnerTexts();
  assert.deepEqual(titles, names);
  assert.equal(await page.evaluate(() => document.querySelectorAll("#app script, #app img, #app b").length), 0);
  await page.goto(pathToFileURL(join(directory, "hostile-files.svg")).href);
  assert.equal(await page.evaluate(() => document.querySelectorAll("script, img, b, foreignObject").length), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await closePage(page);
});

test("hostile names, titles and captions are only text in pictures", async () => {
  const data = ["--data", "hostile.csv", "--id-column", "name", "--label-column", "kind"];
  const text = ["--title", HOSTILE[0], "--caption", HOSTILE.join(" ").slice(0, 3000)];
  for (const [name, flags] of [["names", ["--map-labels", "on"]], ["words", ["--words", "--legend", "right"]], ["islands", ["--map-labels", "islands"]]] as const) {
    lowland("plot", "hostile-map.csv", ...data, ...text, ...flags, "--quiet", "--out", `${name}.svg`, "--out", `${name}.pdf`, "--out", `${name}.png`);
    const page = await openPage("digits.html");
    await page.goto(pathToFileURL(join(directory, `${name}.svg`)).href);
    const texts = await page.evaluate(() => Array.from(document.querySelectorAll("text"), (each) => each.textContent ?? ""));
    assert.ok(texts.includes(HOSTILE[0]), `the title is in ${name}.svg`);
    // Within another page, too.
    writeTestFile("inline.html", `<!doctype html><meta charset="utf-8"><main>${readFileSync(join(directory, `${name}.svg`), "utf8")}</main>`);
    await page.goto(pathToFileURL(join(directory, "inline.html")).href);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main b, main foreignObject").length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(readFileSync(join(directory, `${name}.pdf`)).subarray(0, 5).equals(Buffer.from("%PDF-")));
    await closePage(page);
  }
});
