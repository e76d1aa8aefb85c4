/** What distinguishes selected points from the others: columns, classes and words with the largest differences. */

import { isUnknown } from "./colors";
import type { Dataset } from "./dataset";
import { classLabel, dataText, formatNumber, h } from "./dom";

/** A difference between the selected points and the others. */
export interface Difference {
  what: string;
  /** Mean, or share of the points. */
  selected: string;
  others: string;
  /** Difference in standard deviations; shares are transformed so that their differences are comparable. */
  effect: number;
}

/** Rows of the table. */
const MAX_ROWS = 12;
/** Smaller differences are not listed. */
const MIN_EFFECT = 0.2;
/** Texts are compared word by word only up to this many points. */
const MAX_TEXTS = 300_000;
/** A word must be in this many of the selected texts. */
const MIN_TEXTS = 3;

/** Returns the largest differences, largest first. */
export function findDifferences(data: Dataset, flags: Uint8Array): Difference[] {
  const found: Difference[] = [];
  for (const column of data.columns) {
    if (column.kind === "number") found.push(...meanDifference(column.name, column.values, flags));
    else found.push(...shareDifferences(column.name, column.codes, column.names, flags));
  }
  const several = data.maps.length > 1;
  for (const map of data.maps) {
    const prefix = several ? `${map.name} ` : "";
    if (map.std) found.push(...meanDifference(`${prefix}std`, map.std, flags));
    for (const { name, values } of map.reliability) {
      if (!["island", "bridge_to"].includes(name)) found.push(...meanDifference(`${prefix}${name}`, values, flags));
    }
  }
  if (data.ids && data.rows <= MAX_TEXTS) found.push(...wordDifferences(data.ids, flags));
  const large = found.filter(({ effect }) => Math.abs(effect) >= MIN_EFFECT);
  return large.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, MAX_ROWS);
}

function meanDifference(what: string, values: Float32Array, flags: Uint8Array): Difference[] {
  const [count, sum] = [[0, 0], [0, 0]];
  values.forEach((value, point) => {
    if (!Number.isFinite(value)) return;
    count[flags[point]]++;
    sum[flags[point]] += value;
  });
  if (count[0] === 0 || count[1] === 0) return [];
  const means = [sum[0] / count[0], sum[1] / count[1]];
  // Variance within the two groups.
  let squares = 0;
  values.forEach((value, point) => {
    if (Number.isFinite(value)) squares += (value - means[flags[point]]) ** 2;
  });
  const deviation = Math.sqrt(squares / (count[0] + count[1]));
  const difference = means[1] - means[0];
  const effect = deviation > 0 ? difference / deviation : Math.sign(difference) * 99;
  return [{ what, selected: formatNumber(means[1]), others: formatNumber(means[0]), effect }];
}

/** Returns the difference of two shares on a scale on which it is comparable to standard deviations (Cohen's h). */
const shareEffect = (selected: number, others: number) => 2 * Math.asin(Math.sqrt(selected)) - 2 * Math.asin(Math.sqrt(others));

const percent = (share: number) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

function shareDifferences(column: string, codes: Uint32Array, names: string[], flags: Uint8Array): Difference[] {
  const counts = [new Uint32Array(names.length), new Uint32Array(names.length)];
  const total = [0, 0];
  codes.forEach((code, point) => {
    counts[flags[point]][code]++;
    total[flags[point]]++;
  });
  if (total[0] === 0 || total[1] === 0) return [];
  return names.flatMap((name, code) => {
    const [others, selected] = [counts[0][code] / total[0], counts[1][code] / total[1]];
    // That a class is absent says less than that it is there.
    const effect = shareEffect(selected, others) * (selected < others ? 0.5 : 1);
    if (isUnknown(name) && selected <= others) return [];
    return [{ what: `${column}: ${classLabel(name)}`, selected: percent(selected), others: percent(others), effect }];
  });
}

/** Returns the words of a text of at least three letters, each once. */
export function words(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}']{2,}/gu)?.filter((word) => /\p{L}/u.test(word)));
}

function wordDifferences(texts: string[], flags: Uint8Array): Difference[] {
  const counts = new Map<string, [number, number]>();
  const total = [0, 0];
  texts.forEach((text, point) => {
    total[flags[point]]++;
    for (const word of words(text)) {
      const count = counts.get(word) ?? [0, 0];
      count[flags[point]]++;
      counts.set(word, count);
    }
  });
  if (total[0] === 0 || total[1] === 0) return [];
  const found: Difference[] = [];
  for (const [word, [other, own]] of counts) {
    const [selected, others] = [own / total[1], other / total[0]];
    if (own >= MIN_TEXTS && selected > others) {
      found.push({ what: `“${word}”`, selected: percent(selected), others: percent(others), effect: shareEffect(selected, others) });
    }
  }
  return found;
}

/** Creates the table of differences. */
export function differenceTable(differences: Difference[]): HTMLElement {
  if (differences.length === 0) return h("p", { class: "note" }, "Nothing that is known distinguishes them from the other points.");
  const head = h("tr", {}, ...["", "selected", "others"].map((name) => h("th", { scope: "col" }, name)));
  const row = ({ what, selected, others, effect }: Difference) => {
    const bar = h("i", { class: effect > 0 ? "more" : "less", "aria-hidden": "true" });
    bar.style.width = `${Math.min(100, 40 * Math.abs(effect))}%`;
    return h("tr", {}, h("th", { scope: "row" }, dataText(what, 40), h("span", { class: "effect" }, bar)), h("td", {}, selected), h("td", {}, others));
  };
  const caption = h("caption", {}, "What distinguishes them: means, and shares of the points");
  return h("table", { class: "scores differences" }, caption, h("thead", {}, head), h("tbody", {}, ...differences.map(row)));
}
