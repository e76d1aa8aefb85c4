/** What the person at the page has chosen; everything drawn follows from it and the data. */

import type { Mode, Theme } from "./colors";

/** Points chosen by lasso or search. */
export interface Selection {
  flags: Uint8Array;
  count: number;
}

export interface State {
  mode: Mode;
  theme: Theme;
  /** Per cent of the points that are hidden, the least certain first. */
  hide: number;
  /** Classes switched off in the legend. */
  off: ReadonlySet<number>;
  selection: Selection | null;
  /** Point under the pointer, and point clicked; -1 for none. */
  hover: number;
  pinned: number;
  /** Points the search found. */
  matches: number[];
  neighbors: boolean;
  circles: boolean;
  names: boolean;
  /** Ids beside points, where there is room. */
  words: boolean;
  /** Times the usual size of points. */
  size: number;
  lasso: boolean;
  /** All maps, or one of them. */
  view: "all" | number;
}

export type Key = keyof State;
type Listener = (changed: ReadonlySet<Key>, before: State) => void;

export class Store {
  private listeners: Listener[] = [];

  constructor(public state: State) {}

  on(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    const before = this.state;
    const changed = new Set((Object.keys(change) as Key[]).filter((key) => before[key] !== change[key]));
    if (changed.size === 0) return;
    this.state = { ...before, ...change };
    for (const listener of this.listeners) listener(changed, before);
  }

  /** The point that lines and cards are about. */
  get focus(): number {
    return this.state.hover >= 0 ? this.state.hover : this.state.pinned;
  }
}

export function selectionOf(flags: Uint8Array): Selection | null {
  let count = 0;
  for (const flag of flags) count += flag;
  return count > 0 ? { flags, count } : null;
}
