import type { Unit } from "../format/scale.ts";
import { number, signed } from "../format/scale.ts";
import type { Comparison, Interval } from "../data/model.ts";
import { kindName, kindOf, moreNeeded, oneBlock } from "../data/verdict.ts";
import { oneLine } from "../format/visible.ts";

// bounds writes an interval: "[8.25, 8.40]", or "none".
export function bounds(interval: Interval, unit: Unit, write: (v: number, u: Unit) => string = number): string {
  return interval ? `[${interval.map((v) => (Number.isFinite(v) ? write(v, unit) : "unbounded")).join(", ")}]` : "none";
}

export const signedBounds = (interval: Interval, unit: Unit) => bounds(interval, unit, signed);

// verdictText writes the verdict in words, with how much more would show a difference, whether one block decides, and
// that an arm is not proved to be what it claims.
export function verdictText(c: Comparison): string {
  return [plainVerdict(c), c.but ? oneLine(`but ${c.but}`) : "", oneBlock(c), oneLine(c.unproved ?? "")]
    .filter((text) => text !== "").join("; ");
}

function plainVerdict(c: Comparison): string {
  const more = moreNeeded(c);
  switch (kindOf(c)) {
    case "found":
      return c.difference === null && c.reason ? `${kindName(c)}: ${oneLine(c.reason)}` : kindName(c);
    case "none":
      return more ? `none seen (${more} would show a difference of this size four times in five)` : "none seen";
    case "too-few":
      return c.reason ? oneLine(c.reason) : more ? `${kindName(c)}: it takes ${more}` : kindName(c);
    case "refused":
      return c.reason ? `not comparable: ${oneLine(c.reason)}` : "not comparable";
  }
}

// tick writes the label of a tick, with as few digits as possible.
export function tick(unit: Unit): (v: number) => string {
  return (v) => String(Number((v / unit.factor).toPrecision(6)));
}

// wantsLog says whether the axis of these values is logarithmic: as the reader chose, or if their range is wide. Values
// of zero or less need a linear axis.
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
