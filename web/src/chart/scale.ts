// Scales translate values into places on the chart, and choose the ticks.

export interface Tick {
  at: number;
  label: string;
  // A minor tick has no label and no grid line.
  minor?: boolean;
}

export interface Scale {
  // The values at both ends.
  domain: [number, number];
  place(value: number): number;
  value(place: number): number;
  ticks(room: number): Tick[];
}

export type ScaleKind = "linear" | "log" | "percentile" | "rows";

// scaleOf makes a scale from the domain (values) to the range (pixels). `write` labels a tick.
export function scaleOf(
  kind: ScaleKind, domain: [number, number], range: [number, number], write: (v: number) => string,
): Scale {
  const forward = kind === "log" ? Math.log10 : kind === "percentile" ? nines : (v: number) => v;
  const back = kind === "log" ? (v: number) => 10 ** v : kind === "percentile" ? fromNines : (v: number) => v;
  const a = forward(domain[0]);
  const b = forward(domain[1]);
  const wide = b - a || 1;
  return {
    domain,
    place: (v) => range[0] + ((forward(v) - a) / wide) * (range[1] - range[0]),
    value: (p) => back(a + ((p - range[0]) / (range[1] - range[0] || 1)) * wide),
    ticks: (room) => {
      const most = Math.max(2, Math.floor(Math.abs(range[1] - range[0]) / room));
      if (kind === "log") return logTicks(domain, most, write);
      if (kind === "percentile") return percentileTicks(domain, most);
      return linearTicks(domain, most).map((at) => {
        const label = write(at);
        return { at, label, minor: label === "" };
      });
    },
  };
}

// nines is HdrHistogram's percentile axis: 0 at p0, 1 at p90, 2 at p99, 3 at p99.9.
export function nines(percentile: number): number {
  return -Math.log10(Math.max(1 - percentile / 100, 1e-9));
}

// fromNines is the inverse of nines.
export function fromNines(place: number): number {
  return 100 * (1 - 10 ** -place);
}

// linearTicks gives round values within the domain, about `most` of them.
export function linearTicks(domain: [number, number], most: number): number[] {
  const [low, high] = domain;
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough * (1 - 1e-9)) ?? 10 * power;
  const ticks: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let n = first; n * step <= high + step * 1e-9 && ticks.length < 100; n++) {
    const at = n === 0 ? 0 : Number((n * step).toPrecision(12));
    if (at !== ticks[ticks.length - 1]) ticks.push(at); // far from zero, steps can be below the precision
  }
  return ticks;
}

function logTicks(domain: [number, number], most: number, write: (v: number) => string): Tick[] {
  const [low, high] = domain;
  const from = Math.floor(Math.log10(low));
  const to = Math.ceil(Math.log10(high));
  if (Math.log10(high / low) < 0.8) {
    // In less than a decade there are too few powers of ten.
    return linearTicks(domain, most).filter((v) => v > 0).map((at) => ({ at, label: write(at) }));
  }
  const each = Math.ceil((to - from + 1) / most);
  const named = [1, 2, 5].filter((d) => d === 1 || (each === 1 && (to - from) * 3 <= most * 1.5));
  const ticks: Tick[] = [];
  for (let power = from; power <= to; power++) {
    for (let digit = 1; digit < 10; digit++) {
      const at = Number((digit * 10 ** power).toPrecision(12));
      if (at < low * (1 - 1e-9) || at > high * (1 + 1e-9)) continue;
      const label = named.includes(digit) && (power - from) % each === 0;
      ticks.push({ at, label: label ? write(at) : "", minor: !label });
    }
  }
  return ticks;
}

function percentileTicks(domain: [number, number], most: number): Tick[] {
  const all = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999];
  const inside = all.filter((p) => p >= domain[0] - 1e-9 && p <= domain[1] + 1e-9);
  if (inside.length >= 2) return inside.map((at) => ({ at, label: "p" + at }));
  return linearTicks(domain, most).map((at) => ({ at, label: "p" + at }));
}

// padded gives a domain that covers the values, with some room around them. With `zero` it also covers zero. If all
// values are zero, it covers `one` on either side.
export function padded(values: number[], kind: ScaleKind, zero = false, one = 1): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (kind === "log" && v <= 0)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return kind === "log" ? [1e-6, 1e-3] : [0, one];
  if (kind === "log") return low === high ? [low / 1.5, high * 1.5] : [low / 1.06, high * 1.06];
  if (zero) {
    low = Math.min(low, 0);
    high = Math.max(high, 0);
  }
  if (low === high) {
    const room = Math.abs(low) * 0.1 || one;
    return [low - room, high + room];
  }
  const room = (high - low) * 0.05;
  return [zero && low === 0 ? 0 : low - room, zero && high === 0 ? 0 : high + room];
}
