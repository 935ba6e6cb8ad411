import type { Distribution, Source } from "../data/model.ts";
import { count, inUnit, number, percent, signed, unitFor } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, type Child } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import { signedBounds } from "./values.ts";
import type { View } from "./view.ts";

// Sides describes the two sides of a comparison.
export class Sides implements Section {
  readonly element = frame("sides");

  update(view: View): void {
    const sources = view.data.answer.sources ?? [];
    this.element.hidden = sources.length === 0;
    if (this.element.hidden) return;
    fill(this.element,
      heading(this.element, "Both sides"),
      cardTable("The two sides",
        ["Side", "Source", "Experiment", "Started", "State", "Arms", numeric("Blocks"), numeric("Trials"),
          "Versions"],
        sources.map((s) => ({ cells: cellsOf(s) }))));
  }
}

function cellsOf(s: Source): Child[] {
  const paths = [s.source, ...(s.runs ?? []).filter((r) => r !== s.source)];
  const versions = Object.entries(s.versions ?? {}).map(([k, v]) => oneLine(`${k} ${v}`));
  return [
    oneLine(s.side), el("code", {}, paths.map(oneLine).join(", ")), oneLine(s.name) || "-", started(s),
    oneLine(s.state) || "-", (s.arms ?? []).map(oneLine).join(", ") || "-", s.blocks > 0 ? String(s.blocks) : "-",
    s.failed > 0 ? `${count(s.trials)}, ${count(s.failed)} failed` : count(s.trials), versions.join(", ") || "-",
  ];
}

function started(s: Source): string {
  return s.started ? s.started.slice(0, 19).replace("T", " ") + " UTC" : "-";
}

// Quantiles compares the distributions of two sides, quantile by quantile.
export class Quantiles implements Section {
  readonly element = frame("quantiles");

  update(view: View): void {
    const all = (view.data.answer.distributions ?? [])
      .filter((d) => d.workload === view.workloadName && view.shown(d.arm));
    this.element.hidden = all.length === 0;
    if (this.element.hidden) return;
    const [a, b] = (view.data.answer.sources ?? []).map((s) => oneLine(s.side));
    fill(this.element,
      heading(this.element, "Quantiles"),
      el("p", { class: "lead" }, `${oneLine(view.workloadName)}: the median over trials of each quantile. Each `
        + "interval is for one comparison, not corrected for their number. Pooled quantiles use all observations "
        + "together, and have no interval."),
      ...all.map((d) => quantiles(view, d, a ?? "A", b ?? "B")));
  }
}

function quantiles(view: View, d: Distribution, a: string, b: string): HTMLElement {
  const unit = unitFor(d.unit, d.quantiles.flatMap((q) => q.medians ?? q.pooled ?? []).slice(0, 4));
  const value = (v: number | undefined) => (v === undefined ? "-" : number(v, unit));
  return el("div", { class: "quantiles" }, el("h3", {}, armCell(view, d.arm)),
    cardTable(`${oneLine(d.arm)}: ${d.metric.replace("_", " ")}${inUnit(unit)}`,
      ["Quantile", numeric(a), numeric(b), numeric("Difference"), numeric("95 % interval"), numeric("Relative"),
        numeric(`${a} pooled`), numeric(`${b} pooled`)],
      d.quantiles.map((q) => ({
        cells: [
          oneLine(q.stat), value(q.medians?.[1]), value(q.medians?.[0]),
          q.difference === null ? "-" : signed(q.difference, unit),
          q.difference === null ? "-" : signedBounds(q.interval, unit),
          q.relative === null ? "-" : percent(q.relative), value(q.pooled?.[1]), value(q.pooled?.[0]),
        ],
      }))));
}
