// Writes values in base units for people. The rules are the same as in internal/declare/result/scale.go, so that the
// page and the terminal show the same digits.

import type { BaseUnit } from "../data/types.ts";

export interface Unit {
  // The size of the unit in base units.
  factor: number;
  name: string;
}

const steps: Record<BaseUnit, Unit[]> = {
  s: [
    { factor: 1e-9, name: "ns" }, { factor: 1e-6, name: "us" }, { factor: 1e-3, name: "ms" }, { factor: 1, name: "s" },
  ],
  "bit/s": [
    { factor: 1, name: "bit/s" }, { factor: 1e3, name: "kbit/s" }, { factor: 1e6, name: "Mbit/s" },
    { factor: 1e9, name: "Gbit/s" },
  ],
  "s/bit": [{ factor: 1e-12, name: "ms/Gbit" }, { factor: 1e-9, name: "s/Gbit" }],
  "1/s": [{ factor: 1, name: "/s" }],
  B: [
    { factor: 1, name: "B" }, { factor: 1e3, name: "kB" }, { factor: 1e6, name: "MB" }, { factor: 1e9, name: "GB" },
  ],
  "1": [{ factor: 1, name: "" }],
};

// unitFor picks the unit in which the largest of the values has one to three digits before the point.
export function unitFor(base: string, values: Iterable<number>): Unit {
  let largest = 0;
  for (const v of values) if (Math.abs(v) > largest) largest = Math.abs(v);
  if (base === "s" && largest === 0) return { factor: 1e-6, name: "us" };
  const known = steps[base as BaseUnit] ?? [{ factor: 1, name: base }];
  let chosen = known[0]!;
  for (const unit of known.slice(1)) {
    // A value that rounds to 1000 of the smaller unit uses the larger one. Microseconds begin at 0.1 us.
    if (largest >= 0.9995 * unit.factor || (unit.name === "us" && largest >= 0.1 * unit.factor)) chosen = unit;
  }
  return chosen;
}

// number writes a value in the unit, without its name.
export function number(value: number, unit: Unit): string {
  const v = value / unit.factor;
  const size = Math.abs(v);
  let digits = 2;
  if (size >= 1000) digits = 0;
  else if (size >= 100) digits = 1;
  else if (size !== 0 && size < 1) digits = 3;
  const text = v.toFixed(digits);
  return /^-[0.]*$/.test(text) ? text.slice(1) : text; // no minus sign before zero
}

// signed is number, with a plus sign unless the value is negative.
export function signed(value: number, unit: Unit): string {
  const text = number(value, unit);
  return text.startsWith("-") ? text : "+" + text;
}

// withUnit adds the unit's name.
export function withUnit(text: string, unit: Unit): string {
  return unit.name === "" ? text : `${text} ${unit.name}`;
}

// inUnit names the unit in a title: " in us"; empty for plain counts.
export function inUnit(unit: Unit): string {
  return unit.name === "" ? "" : ` in ${unit.name}`;
}

// amount writes a value with a unit that fits its size: "14.52 us".
export function amount(value: number, base: string): string {
  const unit = unitFor(base, [value]);
  return withUnit(number(value, unit), unit);
}

// percent writes a ratio as a signed percentage.
export function percent(ratio: number): string {
  const text = (100 * ratio).toFixed(Math.abs(ratio) >= 1 ? 0 : 1);
  const plain = /^-[0.]*$/.test(text) ? text.slice(1) : text;
  return (plain.startsWith("-") ? plain : "+" + plain) + " %";
}

// share writes a ratio of 0 or more as a percentage with two significant digits: "0.42 %", "19 %", "130 %".
export function share(ratio: number): string {
  const v = Number((100 * ratio).toPrecision(2));
  // Numbers below a millionth would get an exponent.
  const text = v !== 0 && Math.abs(v) < 1e-6 ? v.toFixed(Math.min(100, 1 - Math.floor(Math.log10(Math.abs(v)))))
    : String(v);
  return text + " %";
}

// span writes a duration in seconds as experiment files do: "200ms", "1.5s".
export function span(seconds: number): string {
  return seconds < 1 ? `${Number((1e3 * seconds).toFixed(3))}ms` : `${Number(seconds.toFixed(3))}s`;
}

// left writes about how long something will take, in seconds: "about 40 s", "about 3 min", "about 2 h".
export function left(seconds: number): string {
  if (seconds < 90) return `about ${Math.ceil(seconds / 10) * 10} s`;
  return seconds < 90 * 60 ? `about ${Math.round(seconds / 60)} min` : `about ${Math.round(seconds / 3600)} h`;
}

// probability writes a p-value.
export function probability(p: number | null): string {
  if (p === null) return "-";
  return p < 0.0001 ? "<0.0001" : p.toFixed(4);
}

// count writes an integer with commas between the thousands.
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}
