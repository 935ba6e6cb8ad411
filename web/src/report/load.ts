import type { Series } from "../chart/spec.ts";
import { count, number, unitFor, withUnit } from "../format/scale.ts";
import type { Figure, MetricName } from "../data/model.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { bounds, tick, wantsLog } from "./values.ts";
import type { View } from "./view.ts";

// At is a figure at an offered rate.
interface At {
  offered: number;
  response: Figure;
  achieved: Figure | undefined;
}

// LoadCurve draws response time against offered rate, for workloads that differ only in this rate.
export class LoadCurve extends ChartSection {
  constructor(private readonly index: number) {
    super(index === 0 ? "load" : `load-${index + 1}`, "Latency against load");
  }

  protected make(view: View): ChartContent | undefined {
    const load = view.data.loads[this.index];
    if (!load) return undefined;
    const stat = view.chosen?.metric === "response_time" ? view.chosen.stat : "p50";
    const figures = view.data.answer.arms;
    const arms = view.data.arms.map((a) => a.name).filter((a) => view.shown(a));
    const of = (arm: string): At[] => load.rates.flatMap((r) => {
      const workload = view.data.workloads[r.workload]?.name;
      const find = (metric: MetricName, s: string) => figures.find((f) =>
        f.workload === workload && f.arm === arm && f.metric === metric && f.stat === s && !f.scope);
      const response = find("response_time", stat);
      return response ? [{ offered: r.offered, response, achieved: find("transaction_rate", "") }] : [];
    });
    const lines = arms.map((arm) => ({ arm, points: of(arm) })).filter((l) => l.points.length > 0);
    const medians = lines.flatMap((l) => l.points.map((p) => p.response.median));
    if (medians.length === 0) return undefined;
    const unit = unitFor("s", medians);
    const rates = load.rates.map((r) => r.offered);
    const short = (at: At) => at.achieved !== undefined && at.achieved.median < 0.99 * at.offered;
    const series: Series[] = lines.map((l) => ({
      name: l.arm, style: view.style(l.arm), kind: "line", markers: true, whiskers: true,
      points: l.points.map((p) => ({
        x: p.offered, y: p.response.median, low: p.response.interval?.[0], high: p.response.interval?.[1], ref: p,
      })),
    }));
    return {
      lead: `${load.description}: the median over trials of response_time ${stat}, with its 95 % interval, against the `
        + "offered rate of requests. Response time counts from when a request was due. If the achieved rate is below "
        + "the offered rate, the queue grew for as long as the test lasted.",
      spec: {
        id: this.id,
        label: `response_time ${stat} against the offered rate, a line for each arm`,
        zoomKey: `${this.index} ${stat}`,
        height: 320,
        shared: true,
        labels: true,
        x: {
          kind: Math.max(...rates) / Math.min(...rates) > 20 ? "log" : "linear", label: "offered requests per second",
          write: (v) => count(v), zero: true,
        },
        y: {
          kind: wantsLog(medians, view.log) ? "log" : "linear",
          label: `response_time ${stat} in ${unit.name}, median over trials`,
          quantity: `response_time ${stat} (s)`, write: tick(unit),
        },
        series,
        tip: (_, p) => {
          const at = p.ref as At;
          return [
            [`at ${count(at.offered)}/s`, withUnit(number(p.y, unit), unit)],
            ["95 % interval", bounds(at.response.interval, unit)],
            ["achieved", at.achieved ? `${count(at.achieved.median)}/s` : "-"],
          ];
        },
      },
      table: () => table(`response_time ${stat}: median over trials in ${unit.name}`,
        ["Arm", numeric("Offered, 1/s"), numeric("Achieved, 1/s"), numeric(`response_time ${stat}`),
          numeric("95 % interval"), numeric("Trials")],
        lines.flatMap((l) => l.points.map((p) => ({
          class: short(p) ? "worse" : undefined,
          cells: [
            armCell(view, l.arm), count(p.offered),
            p.achieved ? number(p.achieved.median, { factor: 1, name: "" }) : "-",
            number(p.response.median, unit), bounds(p.response.interval, unit), String(p.response.trials),
          ],
        })))),
    };
  }
}
