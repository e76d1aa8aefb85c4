/** Points by name, class or row. */

import type { Dataset } from "./dataset";

export class Search {
  private folded: string[] | null = null;

  constructor(private readonly data: Dataset) {}

  /**
   * Points whose id or class holds the words, whatever their case: first the row of that number, then ids that are the words,
   * then ids that begin with them.
   */
  find(words: string): number[] {
    const wanted = words.trim().toLocaleLowerCase();
    if (!wanted) return [];
    const { ids, rows, columns } = this.data;
    const found: number[] = [];
    const row = /^\d+$/.test(wanted) ? Number(wanted) : -1;
    if (row >= 0 && row < rows) found.push(row);
    this.folded ??= ids?.map((id) => id.toLocaleLowerCase()) ?? [];
    const classes = columns.flatMap((column) => {
      if (column.kind !== "class") return [];
      const hits = column.names.map((name) => name.toLocaleLowerCase().includes(wanted));
      return hits.some(Boolean) ? [{ codes: column.codes, hits }] : [];
    });
    if (!ids && classes.length === 0) return found;
    const [same, first, others]: number[][] = [[], [], []];
    for (let i = 0; i < rows; i++) {
      if (i === row) continue;
      const at = ids ? this.folded[i].indexOf(wanted) : -1;
      if (at === 0) (this.folded[i].length === wanted.length ? same : first).push(i);
      else if (at > 0 || classes.some(({ codes, hits }) => hits[codes[i]])) others.push(i);
    }
    return found.concat(same, first, others);
  }
}
