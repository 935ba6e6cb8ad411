import type { Series } from "../chart/spec.ts";
import { inUnit, number, percent, probability, signed, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, type Comparison } from "../data/model.ts";
import { kindOf, colourOf } from "../data/verdict.ts";
import { oneLine } from "../format/visible.ts";
import { button } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { bounds, signedBounds, tick, verdictText } from "./values.ts";
import type { View } from "./view.ts";

// Differences compares each arm with the baseline, as a forest plot.
export class Differences extends ChartSection {
  private readonly toggle: HTMLButtonElement;

  // relative is called when the reader switches between absolute and relative differences.
  constructor(relative: () => void) {
    super("differences", "Differences from the baseline");
    this.toggle = button("Relative", { "aria-pressed": "false" }, relative);
    this.tools.append(this.toggle);
    this.open();
  }

  protected make(view: View): ChartContent | undefined {
    this.toggle.setAttribute("aria-pressed", String(view.relative));
    const q = view.chosen;
    if (!q) return undefined;
    const all = view.chosenOf(view.data.answer.comparisons);
    if (all.length === 0) return undefined;
    const rows = all.filter((c) => view.shown(c.arm));
    const unit = unitFor(q.unit, all.map((c) => c.difference ?? 0));
    const ratio = { factor: 0.01, name: "%" };
    const shown = view.relative ? ratio : unit;
    const value = (c: Comparison) => (view.relative ? c.relative : c.difference);
    const range = (c: Comparison) => (view.relative ? c.relative_interval : c.interval);
    const unpaired = all.some((c) => c.trials !== undefined);
    const bare = all.some((c) => c.difference !== null && c.interval === null);
    const series: Series[] = [];
    rows.forEach((c, row) => {
      const v = value(c);
      if (v === null) return;
      const i = range(c);
      series.push({
        name: c.arm, style: view.style(c.arm), kind: "interval", along: "x",
        class: kindOf(c) === "found" ? "" : "unsure",
        points: [{ x: v, y: row, low: i?.[0], high: i?.[1], ref: c }],
      });
    });
    const baseline = oneLine(view.data.answer.baseline);
    const how = unpaired
      ? "the median of all differences between a trial of the arm and a trial of the baseline (not paired)"
      : all.some((c) => c.deployments)
        ? "the mean over the deployments, each with the median of its differences within blocks"
        : "the median of the differences within blocks";
    return {
      lead: `Against ${baseline}, ${view.title}: ${how}, with its 95 % interval. `
        + (bare ? "Without an interval, it is not known how much further trials would vary. " : "")
        + `A hollow marker: no difference is shown. "Detectable" is the smallest true difference that `
        + `${unpaired ? "these trials" : "this run"} would have shown four times in five.`,
      warnings: view.warningsOf("differences"),
      spec: {
        id: "differences",
        label: `Differences from ${baseline} in ${view.title}, with intervals`,
        zoomKey: `${view.title} ${view.relative}`,
        height: 60 + 30 * Math.max(1, rows.length),
        x: {
          kind: "linear", label: view.relative ? "relative difference in %" : `difference${inUnit(unit)}`,
          quantity: `difference in ${nameOf(q)} (${view.relative ? "ratio" : q.unit})`,
          write: tick(shown), zero: true, one: shown.factor,
        },
        y: { kind: "rows", label: "", quantity: "arm", write: String, rows: rows.map((c) => oneLine(c.arm)) },
        rule: { axis: "x", at: 0 },
        series,
        tip: (_, p) => {
          const c = rows[p.y]!;
          return [
            ["difference", withUnit(signed(c.difference!, unit), unit)],
            ["95 % interval", signedBounds(c.interval, unit)],
            ["relative", c.relative === null ? "-" : percent(c.relative)],
            ["p (Holm)", probability(c.p_value)],
            ["verdict", verdictText(c)],
          ];
        },
      },
      table: () => cardTable(`${view.title}: differences from ${baseline}${inUnit(unit)}`,
        ["Arm", numeric("Difference"), numeric("95 % interval"), numeric("Relative"), numeric("Relative interval"),
          numeric("p (Holm)"), "Verdict", numeric("Detectable"), numeric(unpaired ? "Trials" : "Blocks")],
        rows.map((c) => ({
          class: colourOf(c),
          cells: [
            armCell(view, c.arm, [], c.over),
            c.difference === null ? "-" : signed(c.difference, unit),
            c.difference === null && c.interval === null ? "-"
              : signedBounds(c.interval, unit) + (c.widened ? " (extended to 0)" : ""),
            c.relative === null ? "-" : percent(c.relative),
            c.relative_interval ? bounds(c.relative_interval, ratio, (v) => percent(v)) : "-",
            probability(c.p_value),
            verdictText(c),
            c.detectable === null ? "-" : number(c.detectable, unit),
            c.trials ? `${c.trials[0]} against ${c.trials[1]}` : String(c.blocks),
          ],
        }))),
    };
  }
}
