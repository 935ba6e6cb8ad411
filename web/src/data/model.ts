// The document that the page draws. internal/show/page/data.go explains each key.

export interface Quantity {
  metric: string;
  stat: string;
  unit: string;
  scope?: string;
}

// A bound is infinite if too many trials lack the figure. In the document it is then null; see openIntervals.
export type Interval = [number, number] | null;

export interface Figure extends Quantity {
  arm: string;
  workload: string;
  median: number;
  interval: Interval;
  trials: number;
  // The arm's side in a comparison of two sides.
  side?: string;
  // Why the figure may be wrong, such as a late wire.
  caution?: string;
  // How many of the trials failed at the first attempt. They count as worse than all others.
  failed?: number;
  // The protocol, if the answer has figures over several.
  over?: string;
  // The same percentile of all observations of the trials together. It has no interval.
  pooled?: number;
}

export interface Comparison extends Quantity {
  arm: string;
  baseline: string;
  workload: string;
  // The baseline's workload, if it is not the arm's.
  baseline_workload?: string;
  difference: number | null;
  interval: Interval;
  confidence: number;
  relative: number | null;
  relative_interval: Interval;
  // The intervals were extended to 0: corrected for all comparisons, they do not exclude it.
  widened?: boolean;
  p_value: number | null;
  verdict: string;
  better?: string;
  // What the arm does worse elsewhere, if it is better here.
  but?: string;
  // The protocols that are compared, if the answer has figures over several.
  over?: string;
  detectable: number | null;
  blocks: number;
  blocks_needed: number | null;
  // For two sides: "these-runs" or "runs". For "runs", blocks_needed counts runs on each side.
  about?: string;
  // The numbers of trials of the arm and of the baseline, if they are not paired.
  trials?: [number, number];
  reason?: string;
  // If neighbouring blocks depend on each other: as how many independent blocks they count.
  dependence?: { p_value: number; correlation: number; counted: number };
  // The difference rests on one block: how many more would have prevented that, if they had agreed with most.
  one_block_decides?: { blocks_more: number };
  // How many blocks find the difference that the user asked about.
  resolve?: Resolution;
  // Set if the hosts were made several times: the deployment is then the unit.
  deployments?: { used: number; deployments_needed: number | null };
  // Why one of the arms is not proved to be what it claims.
  unproved?: string;
}

// Resolution says how many blocks find a given difference: in all, and how many more. Null if the run does not tell.
export interface Resolution {
  difference: number;
  blocks: number | null;
  blocks_needed: number | null;
}

// Failures says how often the arms failed at the first attempt of a trial.
export interface Failures {
  arms: FailureShare[];
  comparisons: FailureComparison[];
}

export interface FailureShare {
  arm: string;
  workload: string;
  side?: string;
  failed: number;
  attempts: number;
  share: number;
  interval: Interval;
  // Why the first of them failed.
  reason?: string;
}

// FailureComparison has the counts of the arm and of the baseline.
export interface FailureComparison {
  arm: string;
  baseline: string;
  workload: string;
  failed: [number, number];
  attempts: [number, number];
  p_value: number | null;
  verdict: string;
  better?: string;
}

// Finding is a result about an arm or a layer.
export interface Finding extends Quantity {
  // "layer", "arm" or "failures".
  kind: string;
  name: string;
  baseline: string;
  workload: string;
  baseline_workload?: string;
  about?: string;
  difference: number | null;
  interval: Interval;
  relative: number | null;
  // Null for a layer.
  relative_interval: Interval;
  detectable: number | null;
  trials?: [number, number];
  verdict: string;
  better?: string;
  // What the arm does worse elsewhere, if it is better here.
  but?: string;
  // The protocols that are compared, if the answer has figures over several.
  over?: string;
  reason?: string;
  // Why the figure of the arm or of the baseline may be wrong.
  caution?: string;
  // Why one of the arms is not proved to be what it claims.
  unproved?: string;
}

// Outcome says whether an expectation held: "proved", "refuted" or "unknown".
export type Outcome = string;

// Expectation is what must be true of an arm.
export interface Expectation {
  name: string;
  // The path of a fact.
  path?: string;
  value: unknown;
}

// Judgement is an expectation in a trial.
export interface Judgement extends Expectation {
  outcome: Outcome;
  evidence: string;
}

// ArmProof sums up the expectations of an arm over its trials. The counts are numbers of trials.
export interface ArmProof {
  arm: string;
  outcome: Outcome;
  trials: number;
  // How many of the trials were taken out of the comparison.
  dropped?: number;
  expectations: (Judgement & { proved: number; refuted: number; unknown: number; not_proved?: number[] })[];
}

// Place is where a side of an arm was observed.
export interface Place {
  host?: string;
  node?: string;
  boot_id?: string;
  kernel?: string;
  model?: string;
  device?: string;
  driver?: string;
  where?: {
    cloud: string;
    instance_id?: string;
    instance_type?: string;
    region?: string;
    zone?: string;
    zone_id?: string;
    fault_domain?: string;
    placement_group?: string;
    host?: string;
    topology?: { cluster?: string; block?: string; subblock?: string; host?: string };
    problem?: string;
  };
}

export interface ArmPlaces {
  arm: string;
  client: Place[] | null;
  server: Place[] | null;
}

// ProviderAnswer is what the provider of a cloud answered about a host of an arm.
export interface ProviderAnswer {
  arm: string;
  side: string;
  // Set if the hosts were made several times: the deployments with this answer.
  deployments?: number[];
  cloud?: string;
  instance?: string;
  provider: {
    commands?: string[];
    // The placement group: empty if the machine is in none, absent if that is not known.
    group?: string;
    strategy?: string;
    state?: string;
    colocation?: string;
    group_colocation?: string;
    // From the top down: the last node is the nearest.
    network_nodes?: string[];
    topology?: { cluster?: string; block?: string; subblock?: string; host?: string };
    physical_host?: string;
    accelerated_networking?: boolean;
    // The machine or the scale set that is configured so.
    configured?: string;
    problem?: string;
  };
}

// Differing is a fact in which a host of an arm differs from the baseline's.
export interface Differing {
  arm: string;
  side: string;
  fact: string;
  name: string;
  baseline: string;
  value: string;
  // The file declares the difference.
  declared?: boolean;
  // The fact is known to change figures.
  matters?: boolean;
}

// NoiseFloor is what a baseline, the comparison of an arm with itself, says about its hosts.
export interface NoiseFloor {
  arm: string;
  // The experiment whose design the differences are for: its comparisons and blocks.
  experiment: string;
  comparisons: number;
  blocks: number;
  // False if the arm differs from itself; differs lists where.
  sound: boolean;
  differs?: (Quantity & { workload: string; difference: number; p_value: number })[];
  figures: Floor[];
  // The wanted difference as written, and the cheapest plan that finds it.
  resolve?: string;
  recommended?: { reached: boolean; text: string };
}

// Floor is the noise of one quantity of one workload. Scatters are standard deviations in the unit of the quantity.
export interface Floor extends Quantity {
  workload: string;
  duration_seconds: number;
  short_duration_seconds: number | null;
  level: number;
  pairs: number;
  sd_between_blocks: number | null;
  sd_within_blocks: number | null;
  sd_within_blocks_short: number | null;
  // The part of the variance within blocks that longer trials do not shrink.
  fixed_share: number | null;
  detectable: DetectableAt[];
  // Null: no plan within the bounds finds the difference.
  resolve?: {
    difference: number;
    blocks: number | null;
    cheapest_blocks: number | null;
    cheapest_duration_seconds: number | null;
  };
}

// DetectableAt is the smallest true difference that a number of blocks finds four times in five; null if they are too
// few for any difference. The interval is that of the prediction; earlier versions have none.
export interface DetectableAt {
  blocks: number;
  difference: number | null;
  relative: number | null;
  interval?: Interval;
}

// Earlier is what an earlier baseline of the same hosts says about a run.
export interface Earlier {
  run: string;
  started: string;
  arm: string;
  sound: boolean;
  figures: (Quantity & DetectableAt & { workload: string; pairs: number; level: number; sd_overall: number | null })[];
}

// Lab describes the host of a run in a lab, and lists what a lab cannot tell.
export interface Lab {
  // All of it in a line, without the limits. Pages of earlier versions do not have it.
  text?: string;
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
  // Set if the layer is the difference of one arm. Cost and interval are then those of that comparison, and mean is the
  // figure that adds up.
  arm?: string;
  mean: number;
  // False if the layers do not add up, null if that cannot be tested.
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

// Additivity says how closely the layers add up. Answers of older versions have no text.
export interface Additivity extends Quantity {
  workload: string;
  text?: string;
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

// Distribution compares all times of two arms.
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
  // How bound, estimate and interval are meant: "relative", "change" or "value".
  kind: string;
  fails_above: boolean;
  bound: number;
  estimate: number | null;
  interval: Interval;
  confidence: number;
  verdict: string;
  reason?: string;
  // Why one of the arms is not proved to be what it claims.
  unproved?: string;
  would_fail_from?: number | null;
}

export interface GateResult {
  verdict: string;
  // The first line. Results of older versions have none.
  headline?: string;
  summary: string;
  checks: Check[];
  warnings: Warning[];
}

export interface Answer {
  question: string;
  // The whole answer in words. Its parts follow: the first line, what that rests on, and what else was found. Answers of
  // older versions have no parts.
  verdict: string;
  headline?: string;
  basis?: string;
  also?: string;
  // All results in the answer's order. Answers of older versions have none.
  findings?: Finding[];
  run: string;
  state: string;
  baseline: string;
  // The results were recorded elsewhere: trials belong to no block and are not paired.
  imported?: boolean;
  blocks: number;
  trials: number;
  failed: number;
  // How many of the failed trials were repeated with success.
  replaced?: number;
  arms: Figure[];
  comparisons: Comparison[];
  // Answers of earlier versions have none.
  failures?: Failures;
  layers: Layer[];
  residual: Residual[];
  additivity?: Additivity[];
  warnings: Warning[];
  // For a run in a lab.
  ground?: Lab;
  // Whether the arms were what they claim, and a sentence if not all are proved. Unverified says that it was permitted.
  proof?: ArmProof[];
  unproved?: string;
  unverified?: string;
  places?: ArmPlaces[];
  provider_answers?: ProviderAnswer[];
  differs?: Differing[];
  // For a baseline; and for a run that quotes one.
  noise_floor?: NoiseFloor;
  earlier_baseline?: Earlier;
  // The objectives of the experiment file.
  objectives?: Check[];
  // The two sides of a comparison, and their distributions.
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

// PathElement is a network element on a path, with its parameters in words.
export interface PathElement {
  kind: string;
  with: string;
}

export interface Arm {
  name: string;
  path: string;
  elements: PathElement[];
  // What the arm sets differently from the workloads, in words: "congestion bbr".
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
  // Empty for a run; "compare" or "gate" for a comparison of two sides.
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
  // Refuted or unknown, if not all expectations were proved.
  p?: Outcome;
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
  expect?: Judgement[];
  observed?: { name: string; client: string; server: string }[];
}

// pageVersion is the version of the documents that this page can draw.
export const pageVersion = 1;

// openIntervals replaces bounds that are null by infinity, in all intervals of a document.
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

// sameQuantity says whether two quantities are the same number of a trial.
export function sameQuantity(a: Quantity, b: Quantity): boolean {
  return a.metric === b.metric && a.stat === b.stat && a.unit === b.unit && (a.scope ?? "") === (b.scope ?? "");
}
