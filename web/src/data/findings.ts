import { sameQuantity, type Answer, type Comparison } from "./model.ts";
import { kindOf, type Kind } from "./verdict.ts";

// The findings of an answer as ranked rows. All of the page that ranks is here.

const order: Kind[] = ["found", "none", "too-few", "refused"];

// strength is how large a difference surely is: the end of its interval that is nearer to zero, relative to the baseline where
// that is known.
export function strength(c: Comparison): number {
  const range = c.relative_interval ?? (c.relative === null ? c.interval : null);
  const value = c.relative ?? c.difference ?? 0;
  if (!range) return Math.abs(value);
  if (range[0] <= 0 && range[1] >= 0) return 0;
  return Math.min(Math.abs(range[0]), Math.abs(range[1]));
}

// ranked orders comparisons: differences first, the strongest of them at the top, then the three kinds of nothing.
export function ranked(comparisons: Comparison[]): Comparison[] {
  return comparisons
    .map((c, i) => ({ c, i, kind: order.indexOf(kindOf(c)), strength: strength(c) }))
    .sort((a, b) => a.kind - b.kind || b.strength - a.strength || a.i - b.i)
    .map((r) => r.c);
}

// Findings are the rows that say the verdict, and all the others.
export interface Findings {
  lead: Comparison[];
  rest: Comparison[];
}

// findings takes the rows that the verdict is about: of several arms those in the first workload's first quantity, of one arm
// all of its comparisons.
export function findings(answer: Answer): Findings {
  const all = answer.comparisons;
  const first = (answer.imported ? all.find((c) => c.difference !== null) : undefined) ?? all[0];
  if (!first) return { lead: [], rest: [] };
  const one = new Set(all.map((c) => c.arm)).size === 1;
  const leads = (c: Comparison) => one || (c.workload === first.workload && sameQuantity(c, first));
  return { lead: ranked(all.filter(leads)), rest: ranked(all.filter((c) => !leads(c))) };
}
