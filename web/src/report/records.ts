import { amount, count } from "../format/scale.ts";
import type { Output, TrialRecord } from "../data/model.ts";
import { unpack } from "../data/unpack.ts";
import { oneLine, visible } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import { swatch } from "./armcell.ts";
import { judgements, worst } from "./outcome.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// RecordsSection shows each trial in full: figures, facts, command lines and the outputs of the programs.
export class RecordsSection implements Section {
  readonly element = frame("records");
  private view: View | undefined;
  // Groups by workload and arm, kept so that open records stay open when the page is drawn again.
  private groups = new Map<string, Group>();

  update(view: View): void {
    this.view = view;
    const own = view.data.records.filter((r) => r.workload === view.workload && view.shown(view.armName(r.arm)));
    this.element.hidden = view.data.records.length === 0;
    const groups = new Map<string, Group>();
    for (const r of own) {
      const key = `${view.workloadName}\u0000${view.armName(r.arm)}`;
      const group = this.groups.get(key) ?? new Group();
      group.set(view, r);
      groups.set(key, group);
    }
    // Groups of other workloads and of hidden arms are kept: they may be shown again.
    for (const [key, group] of groups) this.groups.set(key, group);
    fill(this.element,
      heading(this.element, "Records and raw outputs"),
      el("p", { class: "lead" }, `Every trial of ${oneLine(view.workloadName)} in full, with the outputs of the `
        + "programs. Control characters are shown as symbols."),
      ...[...groups.values()].map((g) => g.element));
  }

  // open shows the record of a trial.
  async open(trial: number): Promise<void> {
    const view = this.view;
    const short = view?.trials.find((t) => t.t === trial);
    if (!view || !short) return;
    await this.groups.get(`${view.data.workloads[short.w]?.name}\u0000${view.armName(short.a)}`)?.open(trial);
  }
}

// Group holds the trials of a workload in an arm. They are unpacked when the reader opens it.
class Group {
  readonly element = el("details", { class: "records" });
  private readonly summary = el("summary");
  private readonly body = el("div");
  private packed = "";
  private unpacked = "";

  constructor() {
    this.element.append(this.summary, this.body);
    this.element.addEventListener("toggle", () => void this.fill());
  }

  set(view: View, r: { arm: number; count: number; trials: string }): void {
    const arm = view.armName(r.arm);
    this.element.dataset.fold = `records ${arm}`;
    fill(this.summary, swatch(view.style(arm)), `${oneLine(arm)}: ${count(r.count)} trials`);
    this.packed = r.trials;
    void this.fill();
  }

  async open(trial: number): Promise<void> {
    this.element.open = true;
    await this.fill();
    const record = this.body.querySelector<HTMLDetailsElement>(`[data-trial="${trial}"]`);
    if (!record) return;
    record.open = true;
    record.scrollIntoView({ block: "start" });
    record.querySelector("summary")?.focus();
  }

  private async fill(): Promise<void> {
    if (!this.element.open || this.unpacked === this.packed) return;
    const packed = this.packed;
    this.unpacked = packed;
    const records = await unpack<TrialRecord[]>(packed);
    const details = this.body.querySelectorAll<HTMLDetailsElement>("details[open]");
    const open = new Set([...details].map((d) => d.dataset.trial));
    fill(this.body, ...records.map((r) => {
      const details = el("details", { class: "record", "data-trial": r.trial },
        el("summary", {}, `trial ${r.trial}${stateOf(r)}`));
      const show = () => {
        if (details.open && details.children.length === 1) details.append(recordBody(r));
      };
      details.addEventListener("toggle", show);
      details.open = open.has(String(r.trial));
      return details;
    }));
  }
}

// stateOf says that a trial failed, or which is the worst outcome of its expectations; empty if all is well.
function stateOf(r: TrialRecord): string {
  const outcome = worst((r.expect ?? []).map((j) => j.outcome));
  return r.error ? ": failed" : outcome === "" || outcome === "proved" ? "" : `: ${outcome}`;
}

function recordBody(r: TrialRecord): HTMLElement {
  const facts = Object.entries({ ...r.treatment, ...r.facts }).sort(([a], [b]) => (a < b ? -1 : 1));
  const about: [string, string][] = [
    ["tool", r.tool], ["started", r.started], ["window", `${Number(r.duration_seconds.toPrecision(6))} s`],
    ["reported as", r.reported_as], ["definition", r.definition],
  ];
  const body = el("div", { class: "record-body" });
  if (r.error) body.append(el("p", { class: "error" }, oneLine(r.error)));
  body.append(el("dl", { class: "facts" }, ...about.filter(([, v]) => v !== "").flatMap(([k, v]) =>
    [el("dt", {}, k), el("dd", {}, oneLine(v))])));
  if (r.expect && r.expect.length > 0) body.append(judgements(r.expect));
  for (const note of r.notes) body.append(el("p", { class: "note" }, oneLine(note)));
  body.append(table(`Figures of trial ${r.trial}`,
    ["Metric", numeric("Value"), numeric("In base units")],
    r.metrics.map((m) => ({
      cells: [oneLine(m.name), amount(m.value, m.unit), `${m.value} ${m.unit === "1" ? "" : m.unit}`.trim()],
    }))));
  for (const line of r.commands) body.append(el("pre", {}, el("code", {}, oneLine(line))));
  for (const o of r.outputs) body.append(output(o));
  if (facts.length > 0) {
    body.append(el("details", {}, el("summary", {}, `${facts.length} facts`),
      table(`Facts of trial ${r.trial}`, ["Fact", "Value"],
        facts.map(([k, v]) => ({ cells: [oneLine(k), oneLine(v)] })))));
  }
  const observed = r.observed ?? [];
  if (observed.length > 0) {
    body.append(el("details", {}, el("summary", {}, `${observed.length} observations of both hosts`),
      table(`Observed during trial ${r.trial}`, ["Observation", "Client", "Server"],
        observed.map((o) => ({ cells: [oneLine(o.name), oneLine(o.client) || "-", oneLine(o.server) || "-"] })))));
  }
  return body;
}

function output(o: Output): HTMLElement {
  const title = o.bytes < 0 ? `${oneLine(o.name)}: cannot be read` : `${oneLine(o.name)}, ${count(o.bytes)} bytes`;
  const pre = el("pre", { class: "output", tabindex: 0, "aria-label": title }, visible(o.head));
  if (o.cut > 0) {
    pre.append(el("span", { class: "cut" }, `\n\u2026 ${count(o.cut)} bytes left out \u2026\n`), visible(o.tail));
  }
  return el("div", {}, el("h4", {}, title), pre);
}
