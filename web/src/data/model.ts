// The document that the page draws: internal/page/data.go says what each key is.

export interface Quantity {
  metric: string;
  stat: string;
  unit: string;
  scope?: string;
}

// A bound is infinite where so many trials lack the figure that there is none; the document has null for it (openIntervals).
export type Interval = [number, number] | null;

export interface Figure extends Quantity {
  arm: string;
  workload: string;
  median: number;
  interval: Interval;
  trials: number;
  // The side that the arm is of, where there are two.
  side?: string;
  // What spoiled the figure, such as a wire that was late.
  caution?: string;
  // The same percentile of all observations of the trials together; it has no interval.
  pooled?: number;
}

export interface Comparison extends Quantity {
  arm: string;
  baseline: string;
  workload: string;
  // The baseline's workload where it is another.
  baseline_workload?: string;
  difference: number | null;
  interval: Interval;
  confidence: number;
  relative: number | null;
  relative_interval: Interval;
  // The intervals were extended to 0, because all comparisons together do not allow it to be excluded.
  widened?: boolean;
  p_value: number | null;
  verdict: string;
  better?: string;
  detectable: number | null;
  blocks: number;
  blocks_needed: number | null;
  // Of two sides: "these-runs" or "runs". Of runs blocks_needed counts runs on each side.
  about?: string;
  // How many trials of the arm and of the baseline there are, where they are not paired.
  trials?: [number, number];
  reason?: string;
  // As how many independent blocks they count, where neighbours depend on each other.
  dependence?: { p_value: number; correlation: number; counted: number };
}

// Finding is what the answer says of an arm or a layer.
export interface Finding extends Quantity {
  // "layer" or "arm", and its name.
  kind: string;
  name: string;
  baseline: string;
  workload: string;
  baseline_workload?: string;
  about?: string;
  difference: number | null;
  interval: Interval;
  relative: number | null;
  // None for a layer.
  relative_interval: Interval;
  detectable: number | null;
  trials?: [number, number];
  verdict: string;
  better?: string;
  reason?: string;
  // What spoiled the figure of the arm or of the baseline.
  caution?: string;
}

// Ground is what a run in a lab stood on, and what a lab cannot tell.
export interface Ground {
  kernel: string;
  cpu?: string;
  cpus: number;
  wire?: string;
  congestion?: string;
  limits: string[] | null;
}

export interface Layer extends Quantity {
  layer: string;
  workload: string;
  cost: number;
  interval: Interval;
  p_value: number | null;
  verdict: string;
  // The one arm whose difference the layer is: cost and interval are then that comparison's, and mean is what adds up.
  arm?: string;
  mean: number;
  // False where the layers do not add up, null where that cannot be tested.
  additive: boolean | null;
  adds: { arm: string; count: number; adds: number }[];
}

export interface Residual extends Quantity {
  workload: string;
  arm: string;
  whole: number;
  parts: number;
  value: number;
  interval: Interval;
  saturated: boolean;
}

export interface Warning {
  code: string;
  message: string;
  arm: string;
  workload: string;
}

// Source is one side of a comparison.
export interface Source {
  side: string;
  source: string;
  kind: string;
  runs?: string[];
  name: string;
  state: string;
  started?: string;
  arms: string[] | null;
  blocks: number;
  trials: number;
  failed: number;
  versions?: Record<string, string>;
}

// Distribution sets all times of two arms side by side.
export interface Distribution {
  arm: string;
  baseline: string;
  workload: string;
  metric: string;
  unit: string;
  quantiles: {
    stat: string;
    medians: [number, number] | null;
    difference: number | null;
    interval: Interval;
    relative: number | null;
    pooled: [number, number] | null;
  }[];
}

// Check is a rule of a gate, or an objective of the experiment file, applied to an arm and a workload.
export interface Check extends Quantity {
  rule: string;
  arm: string;
  baseline?: string;
  workload: string;
  // relative, change or value: what bound, estimate and interval are.
  kind: string;
  fails_above: boolean;
  bound: number;
  estimate: number | null;
  interval: Interval;
  confidence: number;
  verdict: string;
  reason?: string;
  would_fail_from?: number | null;
}

export interface GateResult {
  verdict: string;
  summary: string;
  checks: Check[];
  warnings: Warning[];
}

export interface Answer {
  question: string;
  verdict: string;
  // All that the answer says, in its order; older answers have none.
  findings?: Finding[];
  run: string;
  state: string;
  baseline: string;
  // The results were recorded elsewhere: trials belong to no block, and are not paired.
  imported?: boolean;
  blocks: number;
  trials: number;
  failed: number;
  // How many of the failed trials a good one of the same block stands for.
  replaced?: number;
  arms: Figure[];
  comparisons: Comparison[];
  layers: Layer[];
  residual: Residual[];
  warnings: Warning[];
  // That of a run in a lab.
  ground?: Ground;
  // Those of the experiment file, where it has any.
  objectives?: Check[];
  // Those of a comparison.
  sources?: Source[];
  distributions?: Distribution[];
}

export interface RunQuantity extends Quantity {
  workload: number;
  better: string;
  compared: boolean;
}

export interface ArmFact {
  workload: number;
  name: string;
  values: string[];
  differs: boolean;
  own: boolean;
}

// PathElement is what a packet crosses, with its parameters in words.
export interface PathElement {
  kind: string;
  with: string;
}

export interface Arm {
  name: string;
  path: string;
  elements: PathElement[];
  // What the arm sets otherwise than the workloads, in words: "congestion bbr".
  set?: string[];
  layers: Record<string, number> | null;
}

// settingsOf lists what an arm sets.
export function settingsOf(arm: Arm): string[] {
  return arm.set ?? [];
}

export interface Data {
  nearfar: string;
  page: number;
  // Empty for a run; compare or gate where two sides are set side by side.
  kind?: string;
  gate?: GateResult;
  answer: Answer;
  name: string;
  started: string;
  ended: string;
  seed: number;
  versions: Record<string, string> | null;
  arms: Arm[];
  workloads: { name: string; tool: string; mode: string; description: string; skipped: string }[];
  quantities: RunQuantity[];
  trials: string;
  curves: string;
  courses: string;
  loads: { description: string; rates: { workload: number; offered: number }[] }[];
  hosts: { run: { name: string; value: string }[]; arms: ArmFact[]; trials: ArmFact[]; varying: string[] };
  commands: { workload: number; arm: number; lines: string[]; variants: number }[];
  records: { workload: number; arm: number; count: number; trials: string }[];
  notes: string[];
}

export interface Trial {
  t: number;
  b: number;
  a: number;
  w: number;
  v: (number | null)[];
  e?: string;
  s: number;
}

export interface Spread {
  x: number;
  m: number;
  l: number;
  h: number;
}

export interface Curve {
  workload: number;
  arm: number;
  metric: string;
  unit: string;
  trials: number;
  printed: boolean;
  inner: number;
  points: Spread[];
}

export interface Course extends Quantity {
  workload: number;
  arm: number;
  trials: number;
  inner: number;
  points: Spread[];
}

export interface Output {
  name: string;
  bytes: number;
  head: string;
  cut: number;
  tail: string;
}

export interface TrialRecord {
  trial: number;
  tool: string;
  started: string;
  duration_seconds: number;
  reported_as: string;
  definition: string;
  metrics: { name: string; unit: string; value: number }[];
  facts: Record<string, string>;
  treatment: Record<string, string>;
  commands: string[];
  notes: string[];
  error: string;
  outputs: Output[];
}

// pageVersion is that of the documents that this page draws.
export const pageVersion = 1;

// openIntervals makes bounds that the document has as null infinite, wherever there are intervals.
export function openIntervals(of: unknown): void {
  if (typeof of !== "object" || of === null) return;
  for (const [key, value] of Object.entries(of)) {
    if ((key === "interval" || key === "relative_interval") && Array.isArray(value)) {
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

// sameQuantity says whether two are the same number of a trial.
export function sameQuantity(a: Quantity, b: Quantity): boolean {
  return a.metric === b.metric && a.stat === b.stat && a.unit === b.unit && (a.scope ?? "") === (b.scope ?? "");
}
