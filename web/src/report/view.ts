import type { Choices } from "./address.ts";
import { styleOf, type Style } from "../chart/style.ts";
import { nameOf, sameQuantity, type Course, type Curve, type Data, type Finding, type Quantity, type RunQuantity,
  type Trial, type Warning } from "../data/model.ts";
import { kindOf } from "../data/verdict.ts";

// View is the data together with the reader's choices.
export class View {
  readonly data: Data;
  trials: Trial[] = [];
  curves: Curve[] = [];
  courses: Course[] = [];
  // The indices of the chosen workload and quantity; -1 if there is none.
  workload = -1;
  quantity = -1;
  // The names of hidden arms.
  readonly hidden: Set<string>;
  // Whether axes of values are logarithmic; if undefined, this depends on the values.
  log: boolean | undefined;
  // Whether differences are shown relative, and trials over time.
  relative: boolean;
  overTime: boolean;

  constructor(data: Data, before?: View) {
    this.data = data;
    this.hidden = new Set(before?.hidden);
    this.log = before?.log;
    this.relative = before?.relative ?? false;
    this.overTime = before?.overTime ?? false;
    const keptWorkload = before ? data.workloads.findIndex((w) => w.name === before.workloadName) : -1;
    const kept = before?.chosen;
    const keeps = keptWorkload >= 0 && this.quantitiesOf(keptWorkload).length > 0;
    const first = this.initial;
    this.choose(keeps ? keptWorkload : (first?.workload ?? 0));
    if (first && !keeps) this.quantity = data.quantities.indexOf(first);
    if (kept) {
      const same = this.quantitiesOf(this.workload).find((q) => sameQuantity(q, kept));
      if (same) this.quantity = data.quantities.indexOf(same);
    }
  }

  // choose selects a workload. It keeps the chosen quantity if the workload has it, and takes the first otherwise.
  choose(workload: number): void {
    const before = this.chosen;
    this.workload = workload;
    const own = this.quantitiesOf(workload);
    const next = own.find((q) => before && sameQuantity(q, before)) ?? own[0];
    this.quantity = next ? this.data.quantities.indexOf(next) : -1;
  }

  // take applies the choices of an address. Names that the data do not have are ignored.
  take(c: Choices): void {
    this.hidden.clear();
    for (const arm of this.data.arms) if (c.hidden.includes(arm.name)) this.hidden.add(arm.name);
    this.log = c.log;
    this.relative = c.relative;
    this.overTime = c.overTime;
    const workload = this.data.workloads.findIndex((w) => w.name === c.workload);
    if (workload >= 0 && this.quantitiesOf(workload).length > 0) this.choose(workload);
    const quantity = this.quantitiesOf(this.workload).find((q) => nameOf(q) === c.quantity);
    if (quantity) this.quantity = this.data.quantities.indexOf(quantity);
  }

  // choices gives the choices for the address; defaults are left out.
  choices(): Omit<Choices, "open" | "closed"> {
    const first = this.initial;
    const chosen = this.chosen;
    const isFirst = chosen === undefined || chosen === first;
    return {
      workload: isFirst ? undefined : this.workloadName,
      quantity: isFirst ? undefined : nameOf(chosen),
      hidden: [...this.hidden], log: this.log, relative: this.relative, overTime: this.overTime,
    };
  }

  // layersLead says whether the answer begins with what a layer adds.
  get layersLead(): boolean {
    return this.lead?.kind === "layer" && kindOf(this.lead) === "found";
  }

  // lead is the finding that the headline tells.
  private get lead(): Finding | undefined {
    return this.data.lead === undefined ? undefined : this.data.answer.findings?.[this.data.lead];
  }

  // initial is the quantity that is chosen at first: that of the layers if they lead, because the page begins with
  // their picture.
  private get initial(): RunQuantity | undefined {
    const { quantities, workloads } = this.data;
    const lead = this.layersLead ? this.lead : undefined;
    const own = lead && quantities.filter((q) => workloads[q.workload]?.name === lead.workload);
    return own?.find((q) => sameQuantity(q, lead!)) ?? own?.[0] ?? quantities[0];
  }

  get chosen(): RunQuantity | undefined {
    return this.data.quantities[this.quantity];
  }

  // chosenOf gives those that are of the chosen workload and quantity.
  chosenOf<T extends Quantity & { workload: string }>(all: T[]): T[] {
    const q = this.chosen;
    return q ? all.filter((f) => f.workload === this.workloadName && sameQuantity(f, q)) : [];
  }

  get workloadName(): string {
    return this.data.workloads[this.workload]?.name ?? "";
  }

  // title names the chosen workload and quantity: "rr-1k, rtt p50".
  get title(): string {
    return this.chosen ? `${this.workloadName}, ${nameOf(this.chosen)}` : this.workloadName;
  }

  quantitiesOf(workload: number): RunQuantity[] {
    return this.data.quantities.filter((q) => q.workload === workload);
  }

  // workloadsWithFigures gives the indices of workloads that have quantities.
  workloadsWithFigures(): number[] {
    return [...new Set(this.data.quantities.map((q) => q.workload))];
  }

  shown(arm: string): boolean {
    return !this.hidden.has(arm);
  }

  armName(index: number): string {
    return this.data.arms[index]?.name ?? "";
  }

  // style gives colour, line and marker of an arm.
  style(arm: string): Style {
    if (arm === this.data.answer.baseline) return styleOf(-1);
    let n = 0;
    for (const a of this.data.arms) {
      if (a.name === arm) return styleOf(n);
      if (a.name !== this.data.answer.baseline) n++;
    }
    return styleOf(n);
  }

  // value gives the chosen quantity of a trial of the chosen workload; null if the trial has none.
  value(t: Trial): number | null {
    const own = this.quantitiesOf(this.workload);
    return t.v[own.indexOf(this.chosen!)] ?? null;
  }

  // warningsOf gives the warnings of one part of the page, for the chosen workload or for all workloads.
  warningsOf(part: Part): Warning[] {
    return this.data.answer.warnings.filter((w) =>
      partOf(w.code) === part && (w.workload === "" || w.workload === this.workloadName));
  }
}

// The parts of the page that show warnings.
export type Part = "arms" | "differences" | "layers" | "trials" | "hosts" | "proof" | "noise" | "earlier"
  | "inside" | "captures";

// partOf gives the part of the page that shows a warning: the one whose numbers it concerns.
export function partOf(code: string): Part {
  switch (code) {
    case "inside-unknown":
    case "inside-lost":
    case "inside-sum":
    case "inside-disagrees":
      return "inside";
    case "capture-unknown":
      return "captures";
    case "too-few-blocks":
    case "too-few-deployments":
    case "deployment-left-out":
    case "arm-drift":
    case "blocks-depend":
    case "one-block-decides":
      return "differences";
    case "layers-not-separable":
    case "layers-do-not-add-up":
    case "layer-against-comparison":
      return "layers";
    case "drift":
    case "outlier-block":
    case "bimodal":
    case "zero-spread":
    case "failed-trials":
      return "trials";
    case "user-space-wire":
      return "hosts";
    case "arms-differ-in-machines":
    case "expectation-refuted":
    case "expectation-unknown":
      return "proof";
    case "self-difference":
    case "short-trials-differ":
    case "deployments-not-in-baseline":
      return "noise";
    case "noise-unlike-baseline":
      return "earlier";
  }
  return "arms";
}
