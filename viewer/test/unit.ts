/** Tests that need no browser, many against simple reference implementations. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera, type Vec3 } from "../src/camera";
import { classColors, createColoring, isUnknown, type Palette, ramp, rgb, usePalette } from "../src/colors";
import { findDifferences, words } from "../src/differences";
import { toCsv } from "../src/csv";
import { countBits, coordinates, type Dataset, decodePositions, mapBetween } from "../src/dataset";
import { truncate, formatNumber } from "../src/dom";
import { PointGrid } from "../src/grid";
import { ellipse, classCenters } from "../src/overlay";
import { corners, moved, type Rectangle } from "../src/rectangle";
import { asClasses, flags, knownColumns } from "../src/reliability";
import { Search } from "../src/search";
import { joinBytePlanes } from "../src/sections";
import { valueAt } from "../src/slider";
import { createSelection, type State, Store } from "../src/store";
import { drawOrder, isInside, pointColors, shuffledOrder, stdThreshold, visibility } from "../src/visible";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

function cloud(rows: number, seed: number): Float32Array<ArrayBuffer> {
  const next = random(seed);
  return Float32Array.from({ length: 3 * rows }, () => 2 * next() - 1);
}

const STATE: State = {
  mode: { by: "none" }, theme: "light", hide: 0, hiddenClasses: new Set(), selection: null, hover: -1, pinned: -1, matches: [],
  neighbors: false, circles: false, names: false, words: false, flagged: true, bridges: true, size: 1, lasso: false,
  rectangle: null, view: 0,
};

function small(): Dataset {
  const stored = Uint16Array.from([0, 0, 65535, 65535, 32768, 0]);
  const { positions, frame } = decodePositions(stored, { dim: 2, low: [-2, 10], high: [4, 12] }, 3);
  const map = {
    name: "a", caption: "", dim: 2, dimOf: 2, positions, frame,
    std: Float32Array.from([0.5, 2, 1]), covariances: null, kept: Uint16Array.from([3, 0, 1]), reliability: [], bridges: [],
  };
  const codes = Uint32Array.from([0, 1, 0]);
  return {
    title: "t", rows: 3, live: false, start: { mode: null, hide: 0, circles: false, words: false, dark: false, flagged: true, bridges: true, names: true }, maps: [map], images: null, table: null, slider: null,
    columns: [{ name: "kind", kind: "class", codes, names: ["pla,in", 'qu"oted'], counts: Uint32Array.from([2, 1]) }],
    ids: ["Alpha", "<script>", "al\nso"],
    neighbors: { k: 2, shown: 2, lists: Uint32Array.from([1, 2, 0, 2, 0, 1]) },
  };
}

test("numbers are decoded from bytes grouped by significance", () => {
  const numbers = Uint32Array.from([1, 70_000, 0xdeadbeef]);
  const flat = new Uint8Array(numbers.buffer);
  const planes = Uint8Array.from({ length: 12 }, (_, at) => flat[(at % 3) * 4 + Math.floor(at / 3)]);
  assert.deepEqual(new Uint32Array(joinBytePlanes(planes, 4)), numbers);
});

test("map coordinates are decoded from quantized values", () => {
  const { maps } = small();
  const near = (found: number[], wanted: number[]) => wanted.forEach((w, c) => assert.ok(Math.abs(found[c] - w) < 1e-4, `${found}`));
  near(coordinates(maps[0], 0), [-2, 10]);
  near(coordinates(maps[0], 1), [4, 12]);
  near(coordinates(maps[0], 2), [1, 10]);
});

test("maps of one point, equal points or huge numbers have finite positions", () => {
  for (const [low, high] of [[[3], [3]], [[-1.7e308], [1.7e308]]]) {
    const { positions } = decodePositions(Uint16Array.from([0, 65535]), { dim: 1, low, high }, 2);
    assert.ok(positions.every(Number.isFinite), `${positions}`);
  }
  assert.equal(decodePositions(new Uint16Array(0), { dim: 2, low: [0, 0], high: [0, 0] }, 0).positions.length, 0);
});

test("an outlier does not compress the other points", () => {
  const stored = Float32Array.from({ length: 2000 }, (_, i) => (i < 1999 ? i / 2e9 : 1));
  const { positions } = decodePositions(stored, { dim: 1, low: [0], high: [1] }, 2000);
  assert.ok(positions[3 * 1900] - positions[0] > 1, "the other points fill the view");
});

test("the grid finds the same point as a linear search", () => {
  const positions = cloud(3000, 1);
  const grid = new PointGrid(positions);
  const next = random(2);
  const wanted = (point: number) => point % 3 !== 0;
  for (let query = 0; query < 500; query++) {
    const [x, y, radius] = [3 * next() - 1.5, 3 * next() - 1.5, 0.2 * next()];
    let [best, least] = [-1, radius * radius];
    for (let i = 0; i < 3000; i++) {
      const distance = (positions[3 * i] - x) ** 2 + (positions[3 * i + 1] - y) ** 2;
      if (wanted(i) && distance < least) [best, least] = [i, distance];
    }
    assert.equal(grid.nearest(x, y, radius, wanted), best);
  }
  assert.equal(new PointGrid(new Float32Array(0)).nearest(0, 0, 1, () => true), -1);
  assert.equal(new PointGrid(Float32Array.from([5, 5, 0, 5, 5, 0])).nearest(5, 5, 1, () => true), 0);
});

test("zooming fixes the position under the pointer, and projection inverts unprojection", () => {
  const camera = new Camera();
  [camera.width, camera.height] = [800, 600];
  const before = camera.unproject(123, 456);
  camera.zoomAt(3.7, 123, 456);
  const after = camera.unproject(123, 456);
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9);
  const place = camera.project(Float32Array.from([...after, 0]), 0, [0, 0, 0]);
  assert.ok(Math.hypot(place[0] - 123, place[1] - 456) < 1e-2);
});

test("many rotations remain orthonormal", () => {
  const camera = new Camera(true);
  const next = random(3);
  for (let i = 0; i < 10_000; i++) camera.rotate(next() - 0.5, next() - 0.5);
  const dot = (a: Vec3, b: Vec3) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  camera.rotation.forEach((a, i) => camera.rotation.forEach((b, j) => assert.ok(Math.abs(dot(a, b) - (i === j ? 1 : 0)) < 1e-9)));
});

test("the slider hides the least certain points", () => {
  const std = Float32Array.from({ length: 200 }, (_, i) => (i * 7919) % 200);
  assert.equal(stdThreshold(std, 0), Infinity);
  for (const hide of [1, 5, 50, 99]) assert.equal(std.filter((v) => v <= stdThreshold(std, hide)).length, 200 - 2 * hide);
});

test("hidden classes and uncertain points are not drawn, and selected points are drawn last", () => {
  const data = small();
  const state: State = { ...STATE, mode: { by: "column", column: 0 } };
  const order = (change: Partial<State>) => {
    const now = { ...state, ...change };
    return Array.from(drawOrder(Uint32Array.from([2, 1, 0]), visibility(data, data.maps[0], now), now));
  };
  assert.deepEqual(order({}), [2, 1, 0]);
  assert.deepEqual(order({ hiddenClasses: new Set([0]) }), [1]);
  assert.deepEqual(order({ hide: 34 }), [2, 0]);
  assert.deepEqual(order({ selection: createSelection(Uint8Array.from([0, 0, 1])) }), [1, 0, 2]);
});

test("points outside of the selection are faint", () => {
  const colors = pointColors(2, () => [10, 20, 30], 0.5, { ...STATE, selection: createSelection(Uint8Array.from([1, 0])) });
  assert.ok(colors[3] > 3 * colors[7]);
  assert.deepEqual(Array.from(colors.subarray(0, 3)), [10, 20, 30]);
});

test("the shuffled order is a fixed and well-mixed permutation", () => {
  const order = shuffledOrder(1000);
  assert.deepEqual(Array.from(order).sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i));
  assert.deepEqual(order, shuffledOrder(1000));
  const mean = order.subarray(0, 200).reduce((sum, v) => sum + v, 0) / 200;
  assert.ok(Math.abs(mean - 500) < 80, `${mean}`);
});

test("points are inside or outside of convex and concave lassos", () => {
  const bent: [number, number][] = [[0, 0], [4, 0], [4, 4], [2, 1], [0, 4]];
  assert.ok(isInside(0.5, 2, bent) && isInside(3.5, 2, bent));
  assert.ok(!isInside(2, 3, bent) && !isInside(5, 1, bent) && !isInside(-1, 0.5, bent));
});

test("search finds ids and classes ignoring case, and rows by number", () => {
  const search = new Search(small());
  assert.deepEqual(search.find("AL"), [0, 2]);
  assert.deepEqual(search.find(" <SCRIPT> "), [1]);
  assert.deepEqual(search.find("quoted"), []);
  assert.deepEqual(search.find('qu"'), [1]);
  assert.deepEqual(search.find("2"), [2]);
  assert.deepEqual(search.find("99"), []);
  assert.deepEqual(search.find("  "), []);
  const words = new Search({ ...small(), ids: ["making", "King", "kingdom"], columns: [] });
  assert.deepEqual(words.find("king"), [1, 2, 0], "the exact match comes first");
});

test("exported tables are quoted according to RFC 4180", () => {
  const lines = toCsv(small(), Uint8Array.from([0, 1, 1])).split("\r\n");
  assert.equal(lines[0], "row,id,projection_x,projection_y,std,recall,kind");
  assert.match(lines[1], /^1,<script>,[\d.]+,[\d.]+,2,0,"qu""oted"$/);
  assert.match(lines[2], /^2,"al\nso",.*,1,0\.5,"pla,in"$/);
});

test("bits are counted", () => {
  for (let word = 0; word < 65536; word += 37) assert.equal(countBits(word), word.toString(2).replaceAll("0", "").length);
});

test("text is truncated between characters", () => {
  assert.equal(truncate("𝒳𝒴𝒵", 2), "𝒳𝒴…");
  assert.equal(truncate("abc", 3), "abc");
  assert.equal(truncate("x".repeat(10_000), 5), "xxxxx…");
  assert.equal(formatNumber(-131.4321), "-131.4");
  assert.equal(formatNumber(NaN), "missing");
});

test("the center of a class is the median of its points", () => {
  const map = { ...small().maps[0], positions: Float32Array.from([0, 0, 0, 1, 5, 0, 9, 1, 0, 7, 7, 7]) };
  const { centers, spread } = classCenters(map, Uint32Array.from([0, 0, 0, 2]), 3);
  assert.deepEqual(Array.from(centers.subarray(0, 2)), [1, 1]);
  assert.ok(Number.isNaN(centers[3]));
  assert.equal(centers[6], 7);
  assert.deepEqual(Array.from(spread), [1, NaN, 0]);
});

test("listeners are notified once, and only of actual changes", () => {
  const store = new Store(STATE);
  const notified: string[] = [];
  store.on((changed) => notified.push([...changed].join()));
  store.set({ hide: 0 });
  store.set({ hide: 3, hover: -1 });
  assert.deepEqual(notified, ["hide"]);
  assert.equal(store.focus, -1);
});

/** A palette of three classes. */
const PALETTE: Palette = {
  classes: { light: [0x112233, 0x445566, 0x778899], dark: [0x213243, 0x546576, 0x8798a9] },
  named: { mine: { light: 0xff0000, dark: 0xff8080 } },
  scale: { light: [0x000000, 0x808080, 0xffffff], dark: [0xffffff, 0x808080, 0x000000] },
  diverging: false,
  missing: { light: 0xc4c6ca, dark: 0x5c5f66 },
};
usePalette(PALETTE);

test("the largest classes have the colors of the palette, named ones their own, and the others are gray", () => {
  const names = ["a", "mine", "b", "unknown", "c", "d"];
  const light = classColors(Uint32Array.from([5, 1, 6, 90, 7, 1]), names, "light");
  const gray = rgb(PALETTE.missing.light);
  assert.deepEqual(light, [rgb(0x112233), rgb(0xff0000), rgb(0x445566), gray, rgb(0x778899), gray]);
  assert.deepEqual(classColors(Uint32Array.from([5, 1]), names, "dark"), [rgb(0x213243), rgb(0xff8080)]);
  assert.ok(["", " NaN", "Unassigned"].every(isUnknown) && !isUnknown("0"));
  // A class may have the name of a property of all objects.
  assert.deepEqual(classColors(Uint32Array.from([1]), ["constructor"], "light"), [rgb(0x112233)]);
});

test("scales interpolate between their colors", () => {
  assert.deepEqual([0, 0.25, 1].map((t) => ramp(t, "light")), [[0, 0, 0], [64, 64, 64], [255, 255, 255]]);
});

test("differences are the columns, classes and words that distinguish a selection", () => {
  const data: Dataset = {
    ...small(),
    rows: 40,
    maps: [],
    ids: Array.from({ length: 40 }, (_, i) => (i < 10 ? `the orbit of <b>moon ${i}` : `the recipe of soup ${i}`)),
    columns: [
      { name: "mass", kind: "number", values: Float32Array.from({ length: 40 }, (_, i) => (i < 10 ? 5 : 1) + (i % 3)) },
      { name: "even", kind: "number", values: Float32Array.from({ length: 40 }, (_, i) => i % 2) },
      { name: "kind", kind: "class", codes: Uint32Array.from({ length: 40 }, (_, i) => Number(i >= 9)), names: ["star", "meal"], counts: Uint32Array.from([9, 31]) },
    ],
  };
  const flags = Uint8Array.from({ length: 40 }, (_, i) => Number(i < 10));
  const found = findDifferences(data, flags);
  const what = found.map((each) => each.what);
  assert.ok(what.includes("mass") && what.includes("kind: star") && what.includes("“orbit”"), String(what));
  assert.ok(!what.includes("even") && !what.includes("“the”"), String(what));
  const star = found.find((each) => each.what === "kind: star")!;
  assert.deepEqual([star.selected, star.others], ["90 %", "0 %"]);
  assert.ok(found.every((each, at) => at === 0 || Math.abs(each.effect) <= Math.abs(found[at - 1].effect)));
  assert.deepEqual(findDifferences(data, new Uint8Array(40).fill(1)), [], "all points: there are no others");
  assert.deepEqual([...words("It's the Ärger, 42 x7y")], ["it's", "the", "ärger", "x7y"]);
});

test("numbers are colored by value, and missing values are gray", () => {
  const data: Dataset = { ...small(), columns: [{ name: "x", kind: "number", values: Float32Array.from([1, 2, NaN]) }] };
  const colors = createColoring(data, data.maps[0], { by: "column", column: 0 }, "light");
  assert.ok(colors.kind === "number" && colors.low === 1 && colors.middle === 1.5 && colors.high === 2);
  assert.equal(new Set([0, 1, 2].map((point) => String(colors.color(point)))).size, 3);
  const endless: Dataset = { ...data, columns: [{ name: "x", kind: "number", values: Float32Array.from([1, Infinity, NaN, -Infinity, 2]) }] };
  const beyond = createColoring(endless, data.maps[0], { by: "column", column: 0 }, "light");
  assert.equal(new Set([1, 2, 3].map((point) => String(beyond.color(point)))).size, 1, "values that are not finite are missing");
  assert.notDeepEqual(beyond.color(4), beyond.color(1));
  const wide: Dataset = { ...data, columns: [{ name: "x", kind: "number", values: Float32Array.from({ length: 101 }, (_, i) => 10 ** (i / 25)) }] };
  const log = createColoring(wide, null, { by: "column", column: 0 }, "light");
  assert.ok(log.kind === "number" && Math.abs(log.middle - 100) < 1, "orders of magnitude are on a logarithmic scale");
  assert.deepEqual(log.color(50), ramp(0.5, "light"));
  const kept = createColoring(data, data.maps[0], { by: "recall" }, "light");
  assert.deepEqual(kept.color(0), ramp(1, "light"));
});

test("covariances are projected to oriented ellipses from any side", () => {
  const [map] = small().maps;
  const front: [number, number, number][] = [[1, 0, 0], [0, 1, 0]];
  const near = (found: number, wanted: number) => assert.ok(Math.abs(found - wanted) < 1e-6, `${found}, not ${wanted}`);
  const circle = ellipse(map, front, 1)!;
  assert.deepEqual(circle, { major: 2, minor: 2, angle: 0 });
  assert.equal(ellipse({ ...map, std: null }, front, 1), null);
  // Semi-axes 2 and 0.5, the major axis up to the right at 30 degrees.
  const [cos, sin] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const tilted = [4 * cos * cos + 0.25 * sin * sin, 3.75 * cos * sin, 4 * sin * sin + 0.25 * cos * cos];
  const flat = ellipse({ ...map, covariances: Float32Array.from([0, 0, 0, ...tilted]) }, front, 1)!;
  near(flat.major, 2);
  near(flat.minor, 0.5);
  near(flat.angle, -Math.PI / 6);
  // In three dimensions, an ellipsoid that is long in z looks long only from the side.
  const is3d = { ...map, dim: 3, covariances: Float32Array.from([1, 0, 0, 1, 0, 9]) };
  near(ellipse(is3d, front, 0)!.major, 1);
  const side = ellipse(is3d, [[0, 0, 1], [0, 1, 0]], 0)!;
  near(side.major, 3);
  near(side.minor, 1);
  near(side.angle, 0);
});

test("between two maps of a slider, points and coordinates are interpolated", () => {
  const { maps } = small();
  const [first] = maps;
  const second = { ...first, name: "b", positions: first.positions.map((v) => v + 1), frame: { middle: [3, 13], unit: 5 } };
  assert.equal(mapBetween([first, second], 0), first);
  assert.equal(mapBetween([first, second], 1), second);
  assert.equal(mapBetween([first, second], 7), second, "positions beyond the last map");
  const between = mapBetween([first, second], 0.25);
  between.positions.forEach((v, i) => assert.ok(Math.abs(v - first.positions[i] - 0.25) < 1e-6));
  assert.ok(Math.abs(between.frame.unit - (0.75 * first.frame.unit + 1.25)) < 1e-9);
  assert.equal(between.name, "a to b");
  assert.deepEqual([0, 1, 1.5, 2].map((at) => valueAt([1, 2, 8], at)), [1, 2, 4, 8]);
});

test("columns of reliability are colored by value, and islands and flags by class", () => {
  const data = small();
  const column = (name: string, values: number[]) => ({ name, meaning: `About ${name}.`, values: Float32Array.from(values) });
  const island = column("island", [2, 0, 1]);
  data.maps[0].reliability = [column("jump", [0, 1, 2]), column("flagged", [0, 1, 0]), island];
  assert.deepEqual(knownColumns(data.maps).map(({ name }) => name), ["jump", "flagged", "island"]);
  const classes = asClasses(island, data.maps)!;
  assert.deepEqual([Array.from(classes.codes), classes.names], [[2, 0, 1], ["no island", "island 1", "island 2"]]);
  assert.equal(asClasses(data.maps[0].reliability[0], data.maps), null);
  const jump = createColoring(data, data.maps[0], { by: "reliability", name: "jump" }, "light");
  assert.ok(jump.kind === "number" && jump.high === 2);
  assert.equal(createColoring(data, data.maps[0], { by: "reliability", name: "island" }, "light").kind, "class");
  assert.equal(createColoring(data, data.maps[0], { by: "reliability", name: "unstable" }, "light").kind, "plain");
  // Flagged points are faint below their rings, and hidden classes of islands are not drawn.
  const colors = pointColors(3, () => [1, 2, 3], 1, STATE, flags(data.maps[0]));
  assert.ok(colors[7] < 40 && colors[3] === 255 && colors[11] === 255);
  const shown = visibility(data, data.maps[0], { ...STATE, mode: { by: "reliability", name: "island" }, hiddenClasses: new Set([2]) });
  assert.deepEqual([0, 1, 2].map(shown), [false, true, true]);
  data.maps[0].reliability = [column("flagged", [0, 0, 0])];
  assert.equal(flags(data.maps[0]), null);
});

test("keys move and resize a rectangle, which stays on the map", () => {
  const start: Rectangle = [40, 30, 100, 90];
  assert.deepEqual(moved(start, "ArrowRight", false, 300, 200), [60, 30, 120, 90]);
  assert.deepEqual(moved(start, "ArrowUp", true, 300, 200), [40, 30, 100, 70]);
  assert.deepEqual(moved(start, "x", false, 300, 200), start);
  let rectangle = start;
  for (let press = 0; press < 40; press++) rectangle = moved(rectangle, "ArrowLeft", false, 300, 200);
  assert.deepEqual(rectangle, [0, 30, 60, 90]);
  for (let press = 0; press < 40; press++) rectangle = moved(rectangle, "ArrowDown", true, 300, 200);
  assert.deepEqual(rectangle, [0, 30, 60, 200]);
  for (let press = 0; press < 40; press++) rectangle = moved(rectangle, "ArrowLeft", true, 300, 200);
  assert.deepEqual(rectangle, [0, 30, 20, 200], "it keeps a smallest side");
  assert.deepEqual(corners([1, 2, 3, 4]), [[1, 2], [3, 2], [3, 4], [1, 4]]);
});
