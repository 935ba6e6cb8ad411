import type { Series } from "../chart/spec.ts";
import { inUnit, number, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, type Figure, type Warning } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { styleOf } from "../chart/style.ts";
import { el } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell, swatch } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { bounds, tick } from "./values.ts";
import type { View } from "./view.ts";

// Arms draws the median over the trials of each arm, with its interval.
export class Arms extends ChartSection {
  constructor() {
    super("arms", "Arms");
    this.open();
  }

  protected make(view: View): ChartContent | undefined {
    const q = view.chosen;
    if (!q) return undefined;
    const all = view.chosenOf(view.data.answer.arms);
    const figures = all.filter((f) => view.shown(f.arm));
    if (all.length === 0) return undefined;
    const unit = unitFor(q.unit, all.map((f) => f.median));
    // Two sides may have an arm of the same name.
    const named = (f: Figure) => (f.side ? `${f.side}: ${f.arm}` : f.arm);
    const base = view.data.answer.sources?.[0]?.side;
    const style = (f: Figure) => (f.side && f.side === base ? styleOf(-1) : view.style(f.arm));
    const series: Series[] = figures.map((f, row) => ({
      name: named(f),
      style: style(f),
      kind: "interval",
      along: "x",
      points: [{ x: f.median, y: row, low: f.interval?.[0], high: f.interval?.[1], ref: f }],
    }));
    const about = (w: Warning, arm: string) => w.arm === arm && (w.workload === "" || w.workload === view.workloadName);
    const codes = (arm: string) =>
      [...new Set(view.data.answer.warnings.filter((w) => about(w, arm)).map((w) => w.code))];
    const paired = view.data.answer.comparisons.some((c) => c.blocks > 0);
    const pooled = all.some((f) => f.pooled !== undefined);
    const better = q.better ? `; ${q.better} is better` : "";
    return {
      lead: `Median over trials of ${view.title}, with its 95 % interval${better}.`
        + (paired ? " Arms can differ although their intervals overlap: the differences are paired within blocks." : "")
        + (pooled ? " Pooled: the same percentile of all observations together, which has no interval." : ""),
      warnings: view.warningsOf("arms"),
      more: cautions(all),
      spec: {
        id: "arms",
        label: `Median and interval of ${view.title} for each arm`,
        zoomKey: view.title,
        height: 60 + 30 * Math.max(1, figures.length),
        x: {
          kind: "linear", label: nameOf(q) + inUnit(unit), quantity: `${nameOf(q)} (${q.unit})`, write: tick(unit),
        },
        y: { kind: "rows", label: "", quantity: "arm", write: String, rows: figures.map((f) => oneLine(named(f))) },
        series,
        tip: (_, p) => {
          const f = figures[p.y]!;
          const lines: [string, string][] = [
            ["median", withUnit(number(f.median, unit), unit)], ["95 % interval", bounds(f.interval, unit)],
            ["trials", trials(f)],
          ];
          if (f.caution) lines.push(["caution", oneLine(f.caution)]);
          return lines;
        },
      },
      table: () => cardTable(`${view.title}: median over trials${inUnit(unit)}`,
        ["Arm", numeric("Median"), numeric("95 % interval"), numeric("Trials"),
          ...(pooled ? [numeric("Pooled")] : [])],
        figures.map((f) => ({
          cells: [
            f.side ? el("span", { class: "arm" }, swatch(style(f)), oneLine(named(f)))
              : armCell(view, f.arm, [...codes(f.arm), ...(f.caution ? ["caution"] : [])], f.over),
            number(f.median, unit), bounds(f.interval, unit), trials(f),
            ...(pooled ? [f.pooled === undefined ? "-" : number(f.pooled, unit)] : []),
          ],
        }))),
    };
  }
}

// trials writes the number of trials, and how many of them failed.
function trials(f: Figure): string {
  return f.failed ? `${f.trials} (${f.failed} failed)` : String(f.trials);
}

// cautions lists the cautions on figures below the chart, because the mark beside a number does not explain it.
function cautions(figures: Figure[]): HTMLElement | undefined {
  const spoiled = figures.filter((f) => f.caution);
  if (spoiled.length === 0) return undefined;
  return el("ul", { class: "notes" }, ...spoiled.map((f) => el("li", {}, `${oneLine(f.arm)}: ${oneLine(f.caution!)}`)));
}
