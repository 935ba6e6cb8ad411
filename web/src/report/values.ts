import type { Unit } from "../format/scale.ts";
import { number, signed } from "../format/scale.ts";
import type { Comparison, Interval } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";

// bounds writes an interval: "[8.25, 8.40]", or "none".
export function bounds(interval: Interval, unit: Unit, write: (v: number, u: Unit) => string = number): string {
  return interval ? `[${write(interval[0], unit)}, ${write(interval[1], unit)}]` : "none";
}

export const signedBounds = (interval: Interval, unit: Unit) => bounds(interval, unit, signed);

// verdictText is the verdict in words, as the terminal has it.
export function verdictText(c: Comparison): string {
  if (c.verdict === "higher" || c.verdict === "lower") {
    if (c.better === "arm") return `${c.verdict} (better)`;
    if (c.better === "baseline") return `${c.verdict} (worse)`;
    return c.verdict;
  }
  if (c.verdict === "no-difference") {
    return c.blocks_needed !== null && c.blocks_needed > 0 ? `none seen (+${c.blocks_needed} ${c.trials ? "trials on each side" : "blocks"} would settle it)` : "none seen";
  }
  return c.reason ? `not comparable: ${oneLine(c.reason)}` : "not comparable";
}

// trimmed writes a tick: no more digits than it needs.
export function tick(unit: Unit): (v: number) => string {
  return (v) => String(Number((v / unit.factor).toPrecision(6)));
}

// wantsLog says whether values spread so far that they are only seen on a logarithmic axis.
export function wantsLog(values: number[], chosen: boolean | undefined): boolean {
  let low = Infinity;
  let high = 0;
  for (const v of values) {
    if (v > 0 && v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high || values.some((v) => v <= 0)) return false;
  return chosen ?? high / low > 20;
}
