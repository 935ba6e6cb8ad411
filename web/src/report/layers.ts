import type { Series } from "../chart/spec.ts";
import { styleOf } from "../chart/style.ts";
import { signed, unitFor, withUnit } from "../format/scale.ts";
import { sameQuantity } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { table } from "../ui/table.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { signedBounds, tick } from "./values.ts";
import type { View } from "./view.ts";

// A step of the waterfall.
interface Step {
  name: string;
  from: number;
  to: number;
  // The interval of what the step adds.
  interval: [number, number] | null;
  kind: "layer" | "residual" | "whole";
}

// Layers: what each one adds, from the baseline to the fullest arm, as a waterfall that adds up.
export class Layers extends ChartSection {
  constructor() {
    super("layers", "Layers");
  }

  protected make(view: View): ChartContent | undefined {
    const answer = view.data.answer;
    // Layers are reckoned for one quantity of a workload only; they are shown with its others too.
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
        // The interval of a layer that is one arm belongs to a median, and the bar to a mean.
        const interval: [number, number] | null = l.interval && !l.arm ? [at + l.interval[0] * adds.count, at + l.interval[1] * adds.count] : null;
        steps.push({ name: layerName(l.layer, adds.count), from: at, to: at + adds.adds, interval: interval && sortedPair(interval), kind: "layer" });
        at += adds.adds;
      }
      steps.push({ name: "residual", from: at, to: at + residual.value, interval: residual.interval ? [at + residual.interval[0], at + residual.interval[1]] : null, kind: "residual" });
      steps.push({ name: `${oneLine(residual.arm)}: the whole`, from: 0, to: residual.whole, interval: null, kind: "whole" });
    } else {
      own.forEach((l) => steps.push({ name: oneLine(l.layer), from: 0, to: l.cost, interval: l.interval, kind: "layer" }));
    }
    const series: Series[] = steps.map((s, row) => ({
      name: s.name,
      style: styleOf(s.kind === "layer" ? 4 : s.kind === "residual" ? 0 : -1),
      kind: "bar",
      along: "x",
      points: [{ x: s.to, y: row, from: s.from, low: s.interval?.[0], high: s.interval?.[1], ref: s }],
    }));
    const saturated = residual?.saturated ? " The residual is zero by construction: this design has just as many arms as it takes, so it proves nothing." : "";
    const average = own.some((l) => l.additive === false) ? " The layers do not add up: a cost is an average over these arms." : "";
    const sure = ` Intervals are 95 % each, one at a time.${average}`;
    return {
      lead: residual
        ? `${quantity}: from ${oneLine(answer.baseline)} at zero to ${oneLine(residual.arm)}. Each bar is what a layer adds there, the residual is what the layers leave unexplained, and together they are the whole. All are means of differences within blocks, because medians do not add up.${saturated}${sure}`
        : `${quantity}: what one of each layer adds, by least squares over all arms.${sure}`,
      warnings: view.warningsOf("layers"),
      spec: {
        id: "layers",
        label: `What each layer adds in ${quantity}`,
        zoomKey: quantity,
        height: 60 + 32 * steps.length,
        x: { kind: "linear", label: `difference from ${oneLine(answer.baseline)}${unit.name ? " in " + unit.name : ""}`, quantity: `difference in ${first.metric} ${first.stat} (${first.unit})`, write: tick(unit), zero: true, one: unit.factor },
        y: { kind: "rows", label: "", quantity: "layer", write: String, rows: steps.map((s) => `${s.name}  ${signed(s.to - s.from, unit)}`) },
        rule: { axis: "x", at: 0 },
        series,
        tip: (_, p) => {
          const s = steps[p.y]!;
          const lines: [string, string][] = [[s.kind === "whole" ? "whole" : "adds", withUnit(signed(s.to - s.from, unit), unit)]];
          if (s.interval) lines.push(["95 % interval", signedBounds([s.interval[0] - s.from, s.interval[1] - s.from], unit)]);
          if (s.kind !== "whole") lines.push(["so far", withUnit(signed(s.to, unit), unit)]);
          return lines;
        },
      },
      table: () => table(`${quantity}: layers${unit.name ? " in " + unit.name : ""}`,
        [{ title: "Layer" }, { title: "One adds", numeric: true }, { title: "95 % interval", numeric: true },
          { title: residual ? `More in ${oneLine(residual.arm)}` : "Count", numeric: true }, { title: residual ? `Adds to ${oneLine(residual.arm)}` : "Adds", numeric: true }],
        [
          ...own.map((l) => {
            const adds = l.adds.find((a) => a.arm === residual?.arm);
            const name = l.arm ? `${oneLine(l.layer)} (the median difference of ${oneLine(l.arm)})` : oneLine(l.layer);
            return { cells: [name, signed(l.cost, unit), signedBounds(l.interval, unit), adds ? String(Number(adds.count.toPrecision(3))) : "0", adds ? signed(adds.adds, unit) : "-"] };
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

function sortedPair(pair: [number, number]): [number, number] {
  return pair[0] <= pair[1] ? pair : [pair[1], pair[0]];
}
