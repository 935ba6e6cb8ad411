import { svg } from "./dom.ts";

// A small picture beside a number: the value, its interval and a line at zero.

export interface Mini {
  value: number;
  interval: [number, number] | null;
  // The class that sets the colour.
  kind: string;
}

const width = 96;
const height = 14;

// miniScale gives the part of the axis that covers all of the values and zero.
export function miniScale(all: Mini[]): [number, number] {
  const values = all.flatMap((m) => [m.value, ...(m.interval ?? [])]).filter(Number.isFinite);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  return low === high ? [-1, 1] : [low, high];
}

// rangePath draws an interval with a short bar at each end; all numbers are in pixels.
export function rangePath(from: number, to: number, middle: number): string {
  const end = (x: number) => `M${x.toFixed(1)} ${middle - 3}v6`;
  return `M${from.toFixed(1)} ${middle}H${to.toFixed(1)}${end(from)}${end(to)}`;
}

// mini draws one. Screen readers skip it, because the numbers beside it say the same.
export function mini(m: Mini, scale: [number, number]): SVGSVGElement {
  const [low, high] = scale;
  // An interval without a bound ends at the edge.
  const place = (v: number) => 5 + ((Math.min(high, Math.max(low, v)) - low) / (high - low)) * (width - 10);
  const middle = height / 2;
  const look = { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" };
  return svg("svg", { class: `mini ${m.kind}`, ...look },
    svg("path", { class: "zero", d: `M${place(0).toFixed(1)} 0V${height}` }),
    m.interval
      ? svg("path", { class: "range", d: rangePath(place(m.interval[0]), place(m.interval[1]), middle) }) : null,
    svg("circle", { class: "value", cx: place(m.value).toFixed(1), cy: middle, r: 3 }));
}
