/** Browser tests of entire pages: theme, keys, errors and live pages. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { closePage, coverage, directory, drag, lowland, openPage, withLivePage, writeTestFile } from "./pages";

test("the theme follows the system and the button", async () => {
  const page = await openPage("digits.html", { dark: true });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(21, 23, 28)");
  await page.getByRole("button", { name: "Light" }).click();
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.keyboard.press("d");
  assert.equal(await ground(), "rgb(21, 23, 28)");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  await closePage(page);
});

test("every key has its documented effect", async () => {
  const page = await openPage("digits.html");
  const state = () =>
    page.evaluate(() => {
      const { mode, hide, neighbors, circles, names, words, lasso } = window.lowland.store.state;
      return { mode: JSON.stringify(mode), hide, neighbors, circles, names, words, lasso };
    });
  const before = await state();
  for (const [key, flag] of [["n", "neighbors"], ["u", "circles"], ["t", "names"], ["w", "words"], ["l", "lasso"]] as const) {
    await page.keyboard.press(key);
    assert.equal((await state())[flag], !before[flag], key);
    await page.keyboard.press(key);
    assert.equal((await state())[flag], before[flag], key);
  }
  const seen = new Set([before.mode]);
  for (let press = 0; press < 3; press++) {
    await page.keyboard.press("c");
    seen.add((await state()).mode);
  }
  assert.equal(seen.size, 4, "label, std, recall, nothing");
  await page.keyboard.press("c");
  assert.equal((await state()).mode, before.mode);
  await page.keyboard.press("]");
  await page.keyboard.press("]");
  assert.equal((await state()).hide, 10);
  assert.ok((await page.evaluate(() => window.lowland.panes[0].visible)) < 1797);
  await page.keyboard.press("[");
  assert.equal((await state()).hide, 5);
  await page.keyboard.press("l");
  await drag(page, [[200, 200], [500, 200], [500, 500], [200, 500]]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("e")]);
  assert.equal(download.suggestedFilename(), "digits-selection.csv");
  await closePage(page);
});

test("the flags of plot determine the initial view", async () => {
  const flags = ["--color", "std", "--certain", "0.9", "--uncertainty", "ellipses", "--background", "dark", "--caption", "Words"];
  lowland("plot", "lvm.csv", "--data", "digits", "--quiet", ...flags, "--out", "initial.html");
  const page = await openPage("initial.html");
  const { mode, hide, circles, theme } = await page.evaluate(() => window.lowland.store.state);
  assert.deepEqual({ mode, hide, circles, theme }, { mode: { by: "std" }, hide: 10, circles: true, theme: "dark" });
  assert.equal(await page.locator(".pane-title").innerText(), "lvm Words");
  await closePage(page);
});

test("a class without a name is called empty", async () => {
  writeTestFile("unnamed.csv", "projection_x,projection_y,label\n1,2,a\n3,4,\n5,0,\n");
  lowland("plot", "unnamed.csv", "--quiet", "--out", "unnamed.html");
  const page = await openPage("unnamed.html");
  assert.deepEqual((await page.locator(".classes .name").allInnerTexts()).sort(), ["(empty)", "a"]);
  await closePage(page);
});

test("every control has an accessible name", async () => {
  const page = await openPage("two.html");
  const nameless = await page.evaluate(() =>
    Array.from(document.querySelectorAll<HTMLElement>("button, input, select, canvas[tabindex]"))
      .filter((element) => {
        const labels = (element as HTMLInputElement).labels;
        return !(element.innerText?.trim() || element.getAttribute("aria-label") || labels?.length);
      })
      .map((element) => element.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await closePage(page);
});

test("an incomplete page shows an error", async () => {
  const whole = readFileSync(join(directory, "digits.html"), "utf8");
  writeTestFile("cut.html", whole.replace(/<script type="text\/plain" id="map-0">[^<]*<\/script>/, ""));
  const page = await openPage("digits.html");
  await page.goto(pathToFileURL(join(directory, "cut.html")).href);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /no section "map-0"/);
  await closePage(page);
});

test("a live page follows the fit, and its button stops the fit and keeps the map", async () => {
  const args = ["embed", "digits", "--method", "tsne", "--max-iter", "1000000", "--tol", "0", "--live", "--json", "--out", "live.csv"];
  await withLivePage(args, async (address, ended) => {
    const page = await openPage(address);
    const iteration = async () => Number((await page.locator("#live-status").innerText()).match(/Iteration ([\d,]+)/)?.[1].replaceAll(",", ""));
    await page.getByText(/Iteration/).waitFor();
    const first = await iteration();
    await page.waitForFunction((seen) => Number(document.querySelector("#live-status")!.textContent!.match(/Iteration ([\d,]+)/)![1].replaceAll(",", "")) > seen, first);
    assert.ok((await coverage(page)).some((share) => share > 0.01), "the map is drawn");
    assert.equal(await page.locator("#legend .classes li").count(), 10);
    await page.getByRole("button", { name: "Stop and keep the map" }).click();
    assert.equal(await ended, 130);
    await page.getByText(/Stopped; the map is kept/).waitFor();
    assert.ok(existsSync(join(directory, "live.csv")));
    assert.equal(readFileSync(join(directory, "live.csv"), "utf8").trimEnd().split("\n").length, 1798);
    await closePage(page);
  });
});
