import type { Series } from "../chart/spec.ts";
import { inUnit, number, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, type Course } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { numeric, table } from "../ui/table.ts";
import { bandText } from "./percentiles.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { tick, wantsLog } from "./values.ts";
import type { View } from "./view.ts";

// WithinTrial draws a statistic over the time within the trials.
export class WithinTrial extends ChartSection {
  constructor() {
    super("within", "Time within a trial");
  }

  protected make(view: View): ChartContent | undefined {
    const own = view.courses.filter((c) => c.workload === view.workload);
    const q = view.chosen;
    const like = own.find((c) => q && c.metric === q.metric && c.stat === q.stat)
      ?? own.find((c) => q && c.metric === q.metric) ?? own[0];
    if (!like) return undefined;
    const all = own.filter((c) => c.metric === like.metric && c.stat === like.stat);
    const shown = all.filter((c) => view.shown(view.armName(c.arm)));
    const unit = unitFor(like.unit, all.flatMap((c) => c.points.map((p) => p.m)));
    const name = `${view.workloadName}, ${nameOf(like)}`;
    const most = Math.max(...all.map((c) => c.points.length));
    const series: Series[] = shown.map((c) => ({
      name: view.armName(c.arm), style: view.style(view.armName(c.arm)), kind: "line", band: true,
        markers: c.points.length <= 60,
      points: c.points.map((p) => ({ x: p.x, y: p.m, low: p.l, high: p.h, ref: c })),
    }));
    return {
      lead: `${name} in each part of the measurement window: the median over the trials, and a band that holds `
        + `${bandText(like.inner)}. A slope at the beginning means that the warm-up is too short; a later slope, that `
        + "something changes during the trial.",
      spec: {
        id: "within",
        label: `${name} within a trial, a line for each arm`,
        zoomKey: name,
        height: 300,
        shared: true,
        labels: true,
        x: { kind: "linear", label: "seconds since the window began", write: (v) => String(v), zero: true },
        y: {
          kind: wantsLog(shown.flatMap((c) => c.points.flatMap((p) => [p.l, p.h])), view.log) ? "log" : "linear",
          label: `${nameOf(like)}${inUnit(unit)}, median over trials`, quantity: `${nameOf(like)} (${like.unit})`,
          write: tick(unit),
        },
        series,
        tip: (_, p) => [
          [`at ${p.x.toFixed(1)} s`, withUnit(number(p.y, unit), unit)],
          [bandText((p.ref as Course).inner), `${number(p.low!, unit)} to ${number(p.high!, unit)}`],
          ["trials", String((p.ref as Course).trials)],
        ],
      },
      table: () => table(`${name}: median over trials${inUnit(unit)}, by the middle of the interval`,
        [numeric("Seconds"), ...shown.map((c) => numeric(oneLine(view.armName(c.arm))))],
        Array.from({ length: most }, (_, i) => ({
          cells: [
            shown.find((c) => c.points[i])?.points[i]!.x.toFixed(2) ?? "",
            ...shown.map((c) => (c.points[i] ? number(c.points[i]!.m, unit) : "-")),
          ],
        }))),
    };
  }
}
