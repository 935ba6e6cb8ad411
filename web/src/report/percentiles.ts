import { padded } from "../chart/scale.ts";
import type { Series } from "../chart/spec.ts";
import { number, unitFor, withUnit } from "../format/scale.ts";
import type { Curve, Spread } from "../data/model.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { tick, wantsLog } from "./values.ts";
import type { View } from "./view.ts";

// curvesOf gives the curves of the chosen workload: all of them, and those of the arms that are shown.
export function curvesOf(view: View): { all: Curve[]; shown: Curve[] } {
  const all = view.curves.filter((c) => c.workload === view.workload);
  return { all, shown: all.filter((c) => view.shown(view.armName(c.arm))) };
}

// bandText says which trials the band of a curve holds.
export function bandText(inner: number): string {
  return inner < 1 ? `the inner ${Math.round(100 * inner)} % of the trials` : "all trials";
}

// Percentiles draws latency by percentile, on HdrHistogram's axis.
export class Percentiles extends ChartSection {
  constructor() {
    super("percentiles", "Latency by percentile");
  }

  protected make(view: View): ChartContent | undefined {
    const { all, shown } = curvesOf(view);
    const first = all[0];
    if (!first) return undefined;
    const unit = unitFor(first.unit, all.flatMap((c) => c.points.filter((p) => p.x <= 99).map((p) => p.m)));
    const inTail = (c: Curve) => c.points.filter((p) => p.x >= 10);
    const series: Series[] = shown.map((c) => ({
      name: view.armName(c.arm), style: view.style(view.armName(c.arm)), kind: "line",
      band: !c.printed, markers: c.printed, whiskers: c.printed,
      points: inTail(c).map((p) => ({ x: p.x, y: p.m, low: p.l, high: p.h, ref: c })),
    }));
    const printed = all.every((c) => c.printed);
    const kind = wantsLog(shown.flatMap((c) => inTail(c).map((p) => p.m)), view.log) ? "log" : "linear";
    const text = (p: Spread) => `${number(p.m, unit)} [${number(p.l, unit)}, ${number(p.h, unit)}]`;
    const wanted = [50, 75, 90, 99, 99.9, 99.99, 99.999];
    return {
      lead: `${view.workloadName}, ${first.metric.replace("_", " ")}: at each percentile the median over the trials, `
        + `and a band that holds ${bandText(first.inner)}. `
        + (printed ? "The tool printed these percentiles."
          : "A percentile is drawn if at least ten observations of each trial are beyond it.")
        + " If a band leaves the chart at the top, the table has its upper end.",
      spec: {
        id: "percentiles",
        label: `${view.workloadName}: latency by percentile, a line for each arm`,
        zoomKey: view.workloadName,
        height: 340,
        shared: true,
        labels: true,
        x: {
          kind: "percentile", label: "percentile", write: (v) => "p" + v,
          domain: [
            Math.min(50, ...shown.map((c) => inTail(c)[0]?.x ?? 50)),
            Math.max(90, ...shown.map((c) => c.points[c.points.length - 1]!.x)),
          ],
        },
        y: {
          kind, label: `${first.metric.replace("_", " ")} in ${unit.name}, median over trials`,
          quantity: `${first.metric} (${first.unit})`, write: tick(unit), domain: bounded(shown.flatMap(inTail), kind),
        },
        series,
        tip: (_, p) => [
          [percentileName(p.x), withUnit(number(p.y, unit), unit)],
          [bandText((p.ref as Curve).inner), `${number(p.low!, unit)} to ${number(p.high!, unit)}`],
          ["trials", String((p.ref as Curve).trials)],
        ],
      },
      table: () => {
        const columns = wanted.filter((w) => shown.some((c) => c.points.some((p) => p.x === w)));
        return table(`${view.workloadName}: median over trials of each percentile [band], in ${unit.name}`,
          ["Arm", ...columns.map((w) => numeric(percentileName(w))), numeric("Trials")],
          shown.map((c) => ({
            cells: [armCell(view, view.armName(c.arm)), ...columns.map((w) => {
              const p = c.points.find((q) => q.x === w);
              return p ? text(p) : "-";
            }), String(c.trials)],
          })));
      },
    };
  }
}

// bounded is a domain in which the medians take most of the room. The ends of bands count only if they are near the
// medians.
export function bounded(points: Spread[], kind: "linear" | "log"): [number, number] {
  const medians = points.map((p) => p.m);
  const low = Math.min(...medians);
  const high = Math.max(...medians);
  const least = kind === "log" ? low / 2 : low - (high - low) * 0.5;
  const most = kind === "log" ? high * 4 : high + (high - low) * 0.5;
  const lows = points.map((p) => p.l).filter((l) => l >= least);
  const highs = points.map((p) => p.h).filter((h) => h <= most);
  return padded([...medians, ...lows, ...highs], kind);
}

// percentileName writes a percentile: "p99.9".
export function percentileName(p: number): string {
  return "p" + Number(p.toPrecision(9));
}

// Distribution draws the share of observations at or below a value.
export class Distribution extends ChartSection {
  constructor() {
    super("distribution", "Cumulative distribution");
  }

  protected make(view: View): ChartContent | undefined {
    const { all, shown } = curvesOf(view);
    const measured = shown.filter((c) => !c.printed);
    const first = all.find((c) => !c.printed);
    if (!first) return undefined;
    const body = (c: Curve) => c.points.filter((p) => p.x <= 99);
    const unit = unitFor(first.unit, all.flatMap((c) => body(c).map((p) => p.m)));
    const kind = wantsLog(measured.flatMap((c) => body(c).map((p) => p.m)), view.log) ? "log" : "linear";
    const wanted = [1, 5, 10, 25, 50, 75, 90, 95, 99];
    return {
      lead: `${view.workloadName}: the share of the observations that took at most this time, up to p99. The line is `
        + `the median over the trials; the band holds ${bandText(first.inner)}. Two steps in a line mean two modes.`,
      spec: {
        id: "distribution",
        label: `${view.workloadName}: cumulative distribution, a line for each arm`,
        zoomKey: view.workloadName,
        height: 320,
        labels: true,
        x: {
          kind, label: `${first.metric.replace("_", " ")} in ${unit.name}`, quantity: `${first.metric} (${first.unit})`,
          write: tick(unit), domain: bounded(measured.flatMap(body), kind),
        },
        y: { kind: "linear", label: "share of the observations in %", write: (v) => String(v), domain: [0, 100] },
        series: measured.map((c) => ({
          name: view.armName(c.arm), style: view.style(view.armName(c.arm)), kind: "line", band: true, along: "x",
          points: body(c).map((p) => ({ x: p.m, y: p.x, low: p.l, high: p.h, ref: c })),
        })),
        tip: (_, p) => [
          [`${p.y} % within`, withUnit(number(p.x, unit), unit)],
          [bandText((p.ref as Curve).inner), `${number(p.low!, unit)} to ${number(p.high!, unit)}`],
        ],
      },
      table: () => table(`${view.workloadName}: the value that this share of the observations does not exceed, median `
        + `over trials in ${unit.name}`,
        ["Arm", ...wanted.map((w) => numeric(`${w} %`)), numeric("Trials")],
        measured.map((c) => ({
          cells: [armCell(view, view.armName(c.arm)), ...wanted.map((w) => {
            const p = c.points.find((q) => q.x === w);
            return p ? number(p.m, unit) : "-";
          }), String(c.trials)],
        }))),
    };
  }
}
