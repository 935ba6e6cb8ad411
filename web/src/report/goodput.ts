import type { Series } from "../chart/spec.ts";
import { number, unitFor, withUnit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import type { Figure } from "../data/model.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { bounds, tick } from "./values.ts";
import type { View } from "./view.ts";

// Goodput draws the goodput of all workloads that have one.
export class Goodput extends ChartSection {
  constructor() {
    super("goodput", "Goodput");
  }

  protected make(view: View): ChartContent | undefined {
    const all = view.data.answer.arms.filter((f) => f.metric === "goodput");
    if (all.length === 0) return undefined;
    // If there are many bars, show only those of the chosen workload.
    const own = all.filter((f) => f.workload === view.workloadName);
    const figures = (all.length > 24 && own.length > 0 ? own : all).filter((f) => view.shown(f.arm)).slice(0, 60);
    const unit = unitFor("bit/s", all.map((f) => f.median));
    const several = new Set(all.map((f) => f.workload)).size > 1;
    const name = (f: Figure) => [several ? f.workload : "", f.arm, f.scope ? `(${f.scope})` : ""]
      .filter((s) => s !== "").map(oneLine).join(" ");
    const series: Series[] = figures.map((f, row) => ({
      name: f.arm, style: view.style(f.arm), kind: "bar", along: "x",
      points: [{ x: f.median, y: row, from: 0, low: f.interval?.[0], high: f.interval?.[1], ref: f }],
    }));
    return {
      lead: "Bits per second that the receiving application got: median over trials with its 95 % interval, in "
        + `${unit.name}. Higher is better. `
        + "A bar with the scope \"background\" is for the background that ran beside its workload.",
      spec: {
        id: "goodput",
        label: "Goodput of each arm, with intervals",
        zoomKey: String(figures.length),
        height: 60 + 28 * Math.max(1, figures.length),
        x: {
          kind: "linear", label: `goodput in ${unit.name}`, quantity: "goodput (bit/s)", write: tick(unit),
          zero: true, one: unit.factor,
        },
        y: { kind: "rows", label: "", quantity: "arm", write: String, rows: figures.map(name) },
        rule: { axis: "x", at: 0 },
        series,
        tip: (_, p) => {
          const f = figures[p.y]!;
          return [
            ["goodput", withUnit(number(f.median, unit), unit)], ["95 % interval", bounds(f.interval, unit)],
            ["workload", oneLine(f.workload)], ["trials", String(f.trials)],
          ];
        },
      },
      table: () => table(`Goodput: median over trials in ${unit.name}`,
        ["Arm", "Workload", "Scope", numeric("Median"), numeric("95 % interval"), numeric("Trials")],
        figures.map((f) => ({
          cells: [
            armCell(view, f.arm), oneLine(f.workload), f.scope ? oneLine(f.scope) : "workload",
            number(f.median, unit), bounds(f.interval, unit), String(f.trials),
          ],
        }))),
    };
  }
}
