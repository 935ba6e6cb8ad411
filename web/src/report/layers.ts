import type { Series } from "../chart/spec.ts";
import { styleOf } from "../chart/style.ts";
import { inUnit, signed, unitFor, withUnit } from "../format/scale.ts";
import { sameQuantity, type Interval } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { numeric, table } from "../ui/table.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { signedBounds, tick } from "./values.ts";
import type { View } from "./view.ts";

// Step is one bar of the waterfall.
interface Step {
  name: string;
  from: number;
  to: number;
  // The interval of the end of the bar.
  interval: [number, number] | null;
  kind: "layer" | "residual" | "whole";
}

// Layers draws what each layer adds, as a waterfall from the baseline to the arm with the most layers.
export class Layers extends ChartSection {
  constructor() {
    super("layers", "Layers");
  }

  protected make(view: View): ChartContent | undefined {
    const answer = view.data.answer;
    // The answer has layers for one quantity of a workload. They are shown whichever of its quantities is chosen.
    const layers = answer.layers.filter((l) => l.workload === view.workloadName);
    const first = layers[0];
    if (!first) return undefined;
    const own = layers.filter((l) => sameQuantity(l, first));
    const residual = answer.residual.find((r) => r.workload === view.workloadName && sameQuantity(r, first));
    const unit = unitFor(first.unit, [...own.map((l) => l.cost), residual?.whole ?? 0]);
    const quantity = `${view.workloadName}, ${`${first.metric} ${first.stat}`.trim()}`;

    const steps: Step[] = [];
    let at = 0;
    if (residual) {
      for (const l of own) {
        const adds = l.adds.find((a) => a.arm === residual.arm);
        if (!adds) continue;
        // If the layer is the difference of one arm, its interval is for a median, and the bar is a mean: no interval.
        const interval = l.arm ? null : shifted(l.interval, at, adds.count);
        steps.push({ name: layerName(l.layer, adds.count), from: at, to: at + adds.adds, interval, kind: "layer" });
        at += adds.adds;
      }
      const interval = shifted(residual.interval, at, 1);
      steps.push({ name: "residual", from: at, to: at + residual.value, interval, kind: "residual" });
      const name = `${oneLine(residual.arm)}: the whole`;
      steps.push({ name, from: 0, to: residual.whole, interval: null, kind: "whole" });
    } else {
      for (const l of own) {
        steps.push({ name: oneLine(l.layer), from: 0, to: l.cost, interval: l.interval, kind: "layer" });
      }
    }
    const series: Series[] = steps.map((s, row) => ({
      name: s.name,
      style: styleOf(s.kind === "layer" ? 4 : s.kind === "residual" ? 0 : -1),
      kind: "bar",
      along: "x",
      points: [{ x: s.to, y: row, from: s.from, low: s.interval?.[0], high: s.interval?.[1], ref: s }],
    }));
    const saturated = residual?.saturated
      ? " The residual is zero by construction, because there are only as many arms as unknowns; so it proves nothing."
        : "";
    const average = own.some((l) => l.additive === false)
      ? " The layers do not add up: a cost is an average over these arms." : "";
    const size = answer.additivity?.find((t) => t.workload === view.workloadName && sameQuantity(t, first))?.text;
    const sums = size ? ` Over all arms ${oneLine(size)}.` : "";
    const sure = ` Each interval has 95 % confidence by itself.${sums}${average}`;
    return {
      lead: residual
        ? `${quantity}: from ${oneLine(answer.baseline)} at zero to ${oneLine(residual.arm)}. Each bar is what a `
          + "layer adds there, the residual is what the layers do not explain, and together they are the whole. All "
          + `are means of differences within blocks, because medians do not add up.${saturated}${sure}`
        : `${quantity}: what one of each layer adds, by least squares over all arms.${sure}`,
      warnings: view.warningsOf("layers"),
      spec: {
        id: "layers",
        label: `What each layer adds in ${quantity}`,
        zoomKey: quantity,
        height: 60 + 32 * steps.length,
        x: {
          kind: "linear", label: `difference from ${oneLine(answer.baseline)}${inUnit(unit)}`,
          quantity: `difference in ${first.metric} ${first.stat} (${first.unit})`,
          write: tick(unit), zero: true, one: unit.factor,
        },
        y: {
          kind: "rows", label: "", quantity: "layer", write: String,
          rows: steps.map((s) => `${s.name}  ${signed(s.to - s.from, unit)}`),
        },
        rule: { axis: "x", at: 0 },
        series,
        tip: (_, p) => {
          const s = steps[p.y]!;
          const adds = withUnit(signed(s.to - s.from, unit), unit);
          const lines: [string, string][] = [[s.kind === "whole" ? "whole" : "adds", adds]];
          if (s.interval) lines.push(["95 % interval", signedBounds(shifted(s.interval, -s.from, 1), unit)]);
          if (s.kind !== "whole") lines.push(["so far", withUnit(signed(s.to, unit), unit)]);
          return lines;
        },
      },
      table: () => table(`${quantity}: layers${inUnit(unit)}`,
        ["Layer", numeric("One adds"), numeric("95 % interval"),
          numeric(residual ? `More in ${oneLine(residual.arm)}` : "Count"),
          numeric(residual ? `Adds to ${oneLine(residual.arm)}` : "Adds")],
        [
          ...own.map((l) => {
            const adds = l.adds.find((a) => a.arm === residual?.arm);
            const name = l.arm ? `${oneLine(l.layer)} (the median difference of ${oneLine(l.arm)})` : oneLine(l.layer);
            return {
              cells: [
                name, signed(l.cost, unit), signedBounds(l.interval, unit),
                adds ? String(Number(adds.count.toPrecision(3))) : "0", adds ? signed(adds.adds, unit) : "-",
              ],
            };
          }),
          ...(residual ? [
            { cells: ["residual", "", signedBounds(residual.interval, unit), "", signed(residual.value, unit)] },
            { class: "sum", cells: ["whole", "", "", "", signed(residual.whole, unit)] },
          ] : []),
        ]),
    };
  }
}

function layerName(layer: string, n: number): string {
  const times = Number(n.toPrecision(3));
  return times === 1 ? oneLine(layer) : `${times} \u00d7 ${oneLine(layer)}`;
}

// shifted is an interval times a count, from a place on; its ends are in order also if the count is negative.
function shifted(interval: Interval, from: number, count: number): Interval {
  if (!interval) return null;
  const [a, b] = [from + interval[0] * count, from + interval[1] * count];
  return a <= b ? [a, b] : [b, a];
}
