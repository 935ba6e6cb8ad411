// The documents of the pages. types.ts has their types, which are made from Go's.

import type { Arm, Quantity } from "./types.ts";

export type * from "./types.ts";

// settingsOf lists what an arm sets.
export function settingsOf(arm: Arm): string[] {
  return arm.set ?? [];
}

// pageVersion is the version of the documents that this page can draw.
export const pageVersion = 1;

const intervals = ["interval", "relative_interval", "headline_interval", "headline_relative_interval"];

// openIntervals replaces bounds that are null by infinity, in all intervals of a document.
export function openIntervals(of: unknown): void {
  if (typeof of !== "object" || of === null) return;
  for (const [key, value] of Object.entries(of)) {
    if (intervals.includes(key) && Array.isArray(value)) {
      value[0] ??= -Infinity;
      value[1] ??= Infinity;
    } else {
      openIntervals(value);
    }
  }
}

// nameOf names a quantity: "rtt p50", "goodput of the background".
export function nameOf(q: Quantity): string {
  const name = `${q.metric} ${q.stat}`.trim();
  return q.scope ? `${name} of the ${q.scope}` : name;
}

// sameQuantity says whether two quantities are the same number of a trial.
export function sameQuantity(a: Quantity, b: Quantity): boolean {
  return a.metric === b.metric && a.stat === b.stat && a.unit === b.unit && (a.scope ?? "") === (b.scope ?? "");
}
