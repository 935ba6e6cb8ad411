import { svg } from "./dom.ts";

// A small interval beside a number: where the value and its interval lie, with a line at zero.

export interface Mini {
  value: number;
  interval: [number, number] | null;
  // How it is coloured: a class.
  kind: string;
}

const width = 96;
const height = 14;

// miniScale is the part of the axis that holds all of the values, zero included.
export function miniScale(all: Mini[]): [number, number] {
  const values = all.flatMap((m) => [m.value, ...(m.interval ?? [])]).filter(Number.isFinite);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  return low === high ? [-1, 1] : [low, high];
}

// mini draws one. It repeats what the numbers beside it say, so nothing reads it out.
export function mini(m: Mini, scale: [number, number]): SVGSVGElement {
  // An interval without a bound ends at the edge.
  const place = (v: number) => 5 + ((Math.min(scale[1], Math.max(scale[0], v)) - scale[0]) / (scale[1] - scale[0])) * (width - 10);
  const f = (v: number) => place(v).toFixed(1);
  const middle = height / 2;
  const range = m.interval ? `M${f(m.interval[0])} ${middle}H${f(m.interval[1])}M${f(m.interval[0])} ${middle - 3}v6M${f(m.interval[1])} ${middle - 3}v6` : "";
  return svg("svg", { class: `mini ${m.kind}`, viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("path", { class: "zero", d: `M${f(0)} 0V${height}` }),
    range ? svg("path", { class: "range", d: range }) : null,
    svg("circle", { class: "value", cx: f(m.value), cy: middle, r: 3 }));
}
