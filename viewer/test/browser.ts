/** The page as people meet it, in a real browser. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { closed, drag, end, folder, hover, ink, lonely, lowland, opened, place, program, start, write } from "./pages";

const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 2'>",
  `</script><script>window.hacked = 3</script>`,
  `"quotes' and \`ticks\` \${window.hacked = 4}`,
  "\u202Eright to left \u05E9\u05DC\u05D5\u05DD \u0645\u0631\u062D\u0628\u0627",
  "long ".repeat(2000),
  "<!-- <![CDATA[ ]]> &lt;b&gt; \\u003c",
];

before(async () => {
  lowland("embed", "digits", "--quiet", "--out", "digits.html", "--out", "lvm.csv");
  lowland("embed", "digits", "--method", "pca", "--no-quality", "--quiet", "--out", "pca.csv");
  lowland("plot", "lvm.csv", "pca.csv", "--data", "digits", "--quiet", "--out", "two.html");
  lowland("embed", "swiss-roll", "--n-points", "500", "--n-components", "3", "--method", "pca", "--quiet", "--out", "deep.html");
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const rows = Array.from({ length: 40 }, (_, i) => {
    const text = HOSTILE[i % HOSTILE.length];
    return [quoted(`${i} ${text}`), Math.cos(i), Math.sin(i), i % 5, quoted(text)].join(",");
  });
  write("hostile.csv", `name,<b>a</b>,b,c,kind\n${rows.join("\n")}\n`);
  lowland("embed", "hostile.csv", "--id-column", "name", "--label-column", "kind", "--method", "pca", "--quiet", "--out", "hostile.html");
  await start();
});

after(end);

test("a point under the pointer shows what is known of it", async () => {
  const page = await opened("digits.html");
  const point = await lonely(page);
  const card = await hover(page, point);
  assert.match(card, new RegExp(`row ${point}\\b`));
  for (const word of ["label", "std", /at\s+x -?[\d.,]+, y -?[\d.,]+/, /neighbours kept\s+\d+ of 15 \(recall [01]\.\d\d\)/]) {
    assert.match(card, new RegExp(word));
  }
  await page.waitForFunction(() => document.querySelector<HTMLCanvasElement>(".thumbnail")?.width === 8);
  const shades = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(".thumbnail")!;
    return new Set(canvas.getContext("2d")!.getImageData(0, 0, 8, 8).data).size;
  });
  assert.ok(shades > 4, "the digit is drawn");
  await page.mouse.move(2, 2);
  await page.waitForSelector(".card", { state: "hidden" });
  await closed(page);
});

test("a click keeps the card, another lets go, and so does Escape", async () => {
  const page = await opened("digits.html");
  const point = await lonely(page);
  const { x, y } = await place(page, point);
  const pinned = () => page.evaluate(() => window.lowland.store.state.pinned);
  await page.mouse.click(x, y);
  assert.equal(await pinned(), point);
  await page.mouse.move(2, 2);
  assert.ok(await page.locator(".card").isVisible());
  await page.mouse.click(x, y);
  assert.equal(await pinned(), -1);
  await page.mouse.click(x, y);
  await page.keyboard.press("Escape");
  assert.equal(await pinned(), -1);
  await closed(page);
});

test("lines to true neighbours are drawn, kept and lost ones in two colours", async () => {
  const page = await opened("digits.html");
  // A point that keeps some of its neighbours and loses others.
  const point = await page.evaluate(() => window.lowland.data.maps[0].kept!.findIndex((bits) => bits !== 0 && bits !== 0x7fff));
  await page.evaluate((at) => window.lowland.reveal(at), point);
  await page.waitForTimeout(100);
  const colors = () =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".over")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const count = ([r, g, b]: number[]) => {
        let found = 0;
        for (let i = 0; i < data.length; i += 4) {
          if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] > 200) found++;
        }
        return found;
      };
      return { kept: count([0, 0x72, 0xb2]), lost: count([0xd5, 0x5e, 0]) };
    });
  const drawn = await colors();
  assert.ok(drawn.kept > 20 && drawn.lost > 20, JSON.stringify(drawn));
  await page.getByLabel("Lines from the point").uncheck();
  await page.waitForTimeout(100);
  const without = await colors();
  assert.ok(without.kept < drawn.kept && without.lost < drawn.lost, JSON.stringify(without));
  await closed(page);
});

test("search finds by row and by class, and goes to the point", async () => {
  const page = await opened("digits.html");
  const box = page.getByLabel("Search");
  await page.keyboard.press("/");
  await page.keyboard.type("1234");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => window.lowland.store.state.pinned), 1234);
  assert.match(await page.locator(".card").innerText(), /row 1234/);
  const { x, y } = await place(page, 1234);
  const stage = (await page.locator(".stage").boundingBox())!;
  assert.ok(Math.abs(x - stage.x - stage.width / 2) < 2 && Math.abs(y - stage.y - stage.height / 2) < 2, "it is in the middle");
  await box.fill("no such thing");
  await page.getByText("0 found").waitFor();
  await box.press("Escape");
  assert.deepEqual(await page.evaluate(() => window.lowland.store.state.matches), []);
  await closed(page);
});

test("a lasso chooses the points inside it, and they are exported", async () => {
  const page = await opened("digits.html");
  const stage = (await page.locator(".stage").boundingBox())!;
  const middle = stage.x + stage.width / 2;
  const [top, bottom] = [stage.y + 2, stage.y + stage.height - 2];
  await drag(page, [[stage.x + 2, top], [middle, top], [middle, bottom], [stage.x + 2, bottom]], "Shift");
  const { chosen, wanted } = await page.evaluate((x) => {
    const { store, panes, data } = window.lowland;
    const left = Array.from({ length: data.rows }, (_, point) => point).filter((point) => panes[0].screen(point).x < x);
    return { chosen: store.state.selection!.count, wanted: left.length };
  }, middle);
  assert.ok(wanted > 100 && wanted < 1700, `${wanted}`);
  assert.equal(chosen, wanted);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  assert.equal(download.suggestedFilename(), "digits-selection.csv");
  const lines = readFileSync((await download.path())!, "utf8").trimEnd().split("\r\n");
  assert.equal(lines[0], "row,projection_x,projection_y,std,recall,label");
  assert.equal(lines.length, chosen + 1);
  const map = readFileSync(join(folder, "lvm.csv"), "utf8").trimEnd().split("\n");
  const [row, x] = lines[1].split(",").map(Number);
  assert.ok(Math.abs(x - Number(map[row + 1].split(",")[0])) < 0.02, "the coordinates are the map's own");
  await page.getByRole("button", { name: "Clear" }).click();
  assert.equal(await page.evaluate(() => window.lowland.store.state.selection), null);
  await closed(page);
});

test("the slider hides the least certain points", async () => {
  const page = await opened("digits.html");
  const shown = () => page.evaluate(() => window.lowland.panes[0].visible);
  assert.equal(await shown(), 1797);
  await page.getByLabel("Hide the least certain").fill("20");
  const left = await shown();
  assert.ok(Math.abs(left - 0.8 * 1797) <= 2, `${left}`);
  const std = readFileSync(join(folder, "lvm.csv"), "utf8").trimEnd().split("\n").slice(1).map((line) => Number(line.split(",")[3]));
  const worst = std.indexOf(Math.max(...std));
  assert.equal(await page.evaluate((at) => Array.from(window.lowland.panes[0].order).includes(at), worst), false);
  await page.getByText(`${left.toLocaleString("en")} of 1,797 points`).waitFor();
  await closed(page);
});

test("colours follow the column, and a class can be switched off", async () => {
  const page = await opened("digits.html");
  const legend = page.locator("#legend");
  assert.equal(await legend.locator(".classes li").count(), 10);
  const color = (point: number) => page.evaluate((at) => String(window.lowland.panes[0].coloring.color(at)), point);
  const before = await color(0);
  await page.getByLabel("Colour by").selectOption({ label: "neighbours kept (recall)" });
  await legend.locator(".ramp").waitFor();
  assert.notEqual(await color(0), before);
  await page.getByLabel("Colour by").selectOption({ label: "std: how uncertain a point is" });
  await page.getByLabel("Colour by").selectOption({ label: "label" });
  assert.equal(await color(0), before);
  await legend.getByRole("button", { name: "3" }).first().click();
  assert.equal(await page.evaluate(() => window.lowland.panes[0].visible), 1797 - 183);
  await closed(page);
});

test("wheel, drag and keys move and zoom, and fit brings the whole map back", async () => {
  const page = await opened("digits.html");
  const camera = () => page.evaluate(() => ({ zoom: window.lowland.panes[0].camera.zoom, x: window.lowland.panes[0].camera.center[0] }));
  const point = await lonely(page);
  const { x, y } = await place(page, point);
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(() => window.lowland.panes[0].camera.zoom > 1.5);
  const after = await place(page, point);
  assert.ok(Math.hypot(after.x - x, after.y - y) < 1, "the point stays under the pointer");
  await drag(page, [[300, 300], [420, 330]]);
  const moved = await place(page, point);
  assert.ok(Math.abs(moved.x - after.x - 120) < 2 && Math.abs(moved.y - after.y - 30) < 2, JSON.stringify({ after, moved }));
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("+");
  assert.ok((await camera()).zoom > 2);
  await page.getByRole("button", { name: "Fit" }).click();
  assert.deepEqual(await camera(), { zoom: 1, x: 0 });
  await closed(page);
});

test("two fingers zoom", async () => {
  const page = await opened("digits.html");
  const touch = await page.context().newCDPSession(page);
  const fingers = (gap: number) => [{ x: 400 - gap, y: 300 }, { x: 400 + gap, y: 300 }];
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(40) });
  for (const gap of [50, 70, 90, 120]) await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(gap) });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  const { zoom, pinned } = await page.evaluate(() => ({ zoom: window.lowland.panes[0].camera.zoom, pinned: window.lowland.store.state.pinned }));
  assert.ok(Math.abs(zoom - 3) < 0.3, `${zoom}`);
  assert.equal(pinned, -1, "a pinch is no click");
  await closed(page);
});

test("without WebGL2 the same map is drawn on a plain canvas", async () => {
  const [fast, plain] = [await opened("digits.html?webgl"), await opened("digits.html?canvas")];
  assert.equal(await fast.evaluate(() => window.lowland.panes[0].renderer.name), "webgl");
  assert.equal(await plain.evaluate(() => window.lowland.panes[0].renderer.name), "canvas");
  const [a, b] = [await ink(fast), await ink(plain)];
  assert.ok(Math.max(...a) > 0.02, "something is drawn");
  a.forEach((share, part) => assert.ok(Math.abs(share - b[part]) < 0.02 + 0.25 * share, `part ${part}: ${share} and ${b[part]}`));
  const point = await lonely(plain);
  assert.match(await hover(plain, point), new RegExp(`row ${point}\\b`));
  // The browser of these tests only imitates a graphics card, and the page knows.
  const usual = await opened("digits.html");
  assert.equal(await usual.evaluate(() => window.lowland.panes[0].renderer.name), "canvas");
  for (const page of [fast, plain, usual]) await closed(page);
});

test("a lost graphics card does not cost the map", async () => {
  const page = await opened("digits.html?webgl");
  const wanted = await ink(page);
  assert.equal(await page.evaluate(() => window.lowland.panes[0].renderer.name), "webgl");
  await page.evaluate(() => window.lowland.panes[0].renderer.dispose());
  await page.waitForFunction(() => window.lowland.panes[0].renderer.name === "canvas");
  const found = await ink(page);
  wanted.forEach((share, part) => assert.ok(Math.abs(share - found[part]) < 0.02 + 0.25 * share, `part ${part}`));
  await closed(page);
});

test("maps side by side share point, choice and view, and one becomes the other", async () => {
  const page = await opened("two.html?webgl");
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 2);
  const point = await lonely(page);
  const card = await hover(page, point);
  assert.match(card, /lvm at[\s\S]*pca at/);
  const { x, y } = await place(page, point, 0);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction(() => window.lowland.panes[0].camera.zoom > 1.2);
  const zooms = await page.evaluate(() => window.lowland.panes.map((pane) => pane.camera.zoom));
  assert.equal(zooms[0], zooms[1]);
  await drag(page, [[x - 60, y - 60], [x + 60, y - 60], [x + 60, y + 60], [x - 60, y + 60]], "Shift");
  const last = await page.evaluate(() => {
    const { panes, store } = window.lowland;
    const { flags, count } = store.state.selection!;
    return Array.from(panes[1].order.subarray(-count)).every((at) => flags[at] === 1);
  });
  assert.ok(last, "what is chosen in one is drawn on top in the other");
  await page.getByRole("button", { name: "lvm", exact: true }).click();
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  const still = await ink(page);
  await page.getByRole("button", { name: "pca", exact: true }).click();
  const t = await page.evaluate(() => window.lowland.panes[0].t);
  assert.ok(t < 1, "the points are on their way");
  await page.waitForFunction(() => window.lowland.panes[0].t === 1);
  const moved = await ink(page);
  assert.ok(moved.some((share, part) => Math.abs(share - still[part]) > 0.01));
  await closed(page);
});

test("a map of three dimensions turns, with and without WebGL2", async () => {
  for (const address of ["deep.html?webgl", "deep.html?canvas"]) {
    const page = await opened(address);
    const before = await ink(page);
    const at = await place(page, 7);
    await drag(page, [[300, 300], [450, 340]]);
    const after = await place(page, 7);
    assert.ok(Math.hypot(after.x - at.x, after.y - at.y) > 5, "the point has turned");
    const turned = await ink(page);
    assert.ok(turned.some((share, part) => Math.abs(share - before[part]) > 0.005));
    const point = await page.evaluate(() => {
      const { panes } = window.lowland;
      const { x, y } = panes[0].screen(7);
      const { left, top } = document.querySelector(".over")!.getBoundingClientRect();
      return panes[0].pick(x - left, y - top);
    });
    assert.ok(point >= 0);
    await closed(page);
  }
});

test("dark and light follow the system and the button", async () => {
  const page = await opened("digits.html", { dark: true });
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
  await closed(page);
});

test("every key does what the page of keys says", async () => {
  const page = await opened("digits.html");
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
  await closed(page);
});

test("the keys M and A go from map to map and back to all", async () => {
  const page = await opened("two.html");
  const view = () => page.evaluate(() => window.lowland.store.state.view);
  assert.equal(await view(), "all");
  for (const wanted of [0, 1, 0]) {
    await page.keyboard.press("m");
    assert.equal(await view(), wanted);
    assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  }
  await page.keyboard.press("a");
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 2);
  await closed(page);
});

test("circles of one standard deviation stand around the points that are shown", async () => {
  const page = await opened("digits.html");
  const drawn = () =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".over")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((_, at) => at % 4 === 3).reduce((sum, alpha) => sum + (alpha > 0 ? 1 : 0), 0);
    });
  await page.keyboard.press("t");
  await page.waitForTimeout(100);
  const without = await drawn();
  await page.keyboard.press("u");
  await page.waitForTimeout(100);
  const every = await drawn();
  assert.ok(every > without + 1000, `${without}, ${every}`);
  // The least certain points have the largest circles.
  await page.evaluate(() => window.lowland.store.set({ hide: 50 }));
  await page.waitForTimeout(100);
  assert.ok((await drawn()) < 0.7 * every, "hidden points have no circles");
  await closed(page);
});

test("a page begins as the flags of plot say", async () => {
  const flags = ["--color", "std", "--certain", "0.9", "--uncertainty", "ellipses", "--background", "dark", "--caption", "Words"];
  lowland("plot", "lvm.csv", "--data", "digits", "--quiet", ...flags, "--out", "begun.html");
  const page = await opened("begun.html");
  const { mode, hide, circles, theme } = await page.evaluate(() => window.lowland.store.state);
  assert.deepEqual({ mode, hide, circles, theme }, { mode: { by: "std" }, hide: 10, circles: true, theme: "dark" });
  assert.equal(await page.locator(".pane-title").innerText(), "lvm Words");
  await closed(page);
});

test("a class without a name is called empty", async () => {
  write("unnamed.csv", "projection_x,projection_y,label\n1,2,a\n3,4,\n5,0,\n");
  lowland("plot", "unnamed.csv", "--quiet", "--out", "unnamed.html");
  const page = await opened("unnamed.html");
  assert.deepEqual((await page.locator(".classes .name").allInnerTexts()).sort(), ["(empty)", "a"]);
  await closed(page);
});

test("hostile names, classes and columns are text and never run", async () => {
  const page = await opened("hostile.html");
  const elements = await page.evaluate(() => document.querySelectorAll("#app script, #app img, #app b").length);
  assert.equal(elements, 0);
  const names = await page.locator(".classes .name").allInnerTexts();
  for (const text of HOSTILE) {
    const wanted = text.slice(0, 20).trim();
    assert.ok(names.some((name) => name.trim().startsWith(wanted)), `${wanted} in ${names}`);
  }
  for (let point = 0; point < HOSTILE.length; point++) {
    await page.evaluate((at) => window.lowland.reveal(at), point);
    const card = await page.locator(".card h2").innerText();
    const wanted = `${point} ${HOSTILE[point]}`;
    assert.ok(wanted.startsWith(card.replace(/…$/, "").slice(0, 480)), `${card}`);
  }
  assert.equal(await page.evaluate(() => window.lowland.store.state.words), false, "long ids are not written on the map");
  await page.getByLabel("Names of points").check();
  await page.waitForTimeout(100);
  const box = (await page.locator(".card").boundingBox())!;
  assert.ok(box.height < 760 && box.width < 500, "a long name does not fill the page");
  await page.getByLabel("Search").fill("<script>");
  await page.getByText("12 found").waitFor();
  const columns = await page.getByLabel("Colour by").locator("option").allInnerTexts();
  assert.ok(columns.includes("<b>a</b>"), `${columns}`);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await closed(page);
});

test("every control has a name", async () => {
  const page = await opened("two.html");
  const nameless = await page.evaluate(() =>
    Array.from(document.querySelectorAll<HTMLElement>("button, input, select, canvas[tabindex]"))
      .filter((element) => {
        const labels = (element as HTMLInputElement).labels;
        return !(element.innerText?.trim() || element.getAttribute("aria-label") || labels?.length);
      })
      .map((element) => element.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await closed(page);
});

test("a page whose data are cut short says so", async () => {
  const whole = readFileSync(join(folder, "digits.html"), "utf8");
  write("cut.html", whole.replace(/<script type="text\/plain" id="map-0">[^<]*<\/script>/, ""));
  const page = await opened("digits.html");
  await page.goto(pathToFileURL(join(folder, "cut.html")).href);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /no section "map-0"/);
  await closed(page);
});

test("a live page shows the map as it is fitted, and its button stops the run and keeps the map", async () => {
  const words = ["embed", "digits", "--method", "tsne", "--max-iter", "1000000", "--tol", "0", "--live", "--json", "--out", "live.csv"];
  const child = spawn(program, words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((done) => child.on("exit", done));
  try {
    let address = "";
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as { event: string; address?: string };
      if (event.event === "live") {
        address = event.address!;
        break;
      }
    }
    child.stdout.resume();
    const page = await opened(address);
    const iteration = async () => Number((await page.locator("#live-status").innerText()).match(/Iteration ([\d,]+)/)?.[1].replaceAll(",", ""));
    await page.getByText(/Iteration/).waitFor();
    const first = await iteration();
    await page.waitForFunction((seen) => Number(document.querySelector("#live-status")!.textContent!.match(/Iteration ([\d,]+)/)![1].replaceAll(",", "")) > seen, first);
    assert.ok((await ink(page)).some((share) => share > 0.01), "the map is drawn");
    assert.equal(await page.locator("#legend .classes li").count(), 10);
    await page.getByRole("button", { name: "Stop and keep the map" }).click();
    assert.equal(await ended, 130);
    await page.getByText(/Stopped; the map is kept/).waitFor();
    assert.ok(existsSync(join(folder, "live.csv")));
    assert.equal(readFileSync(join(folder, "live.csv"), "utf8").trimEnd().split("\n").length, 1798);
    await closed(page);
  } finally {
    child.kill();
  }
});
