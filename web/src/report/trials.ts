import type { Series } from "../chart/spec.ts";
import { inUnit, number, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, type Trial } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { button, el } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { tick, wantsLog } from "./values.ts";
import type { View } from "./view.ts";

// Trials draws every trial as a dot, block by block or over time, so that drift and modes are visible.
export class Trials extends ChartSection {
  private readonly toggle: HTMLButtonElement;

  // pick is called with the number of the trial that the reader chooses, time when the reader switches the order.
  constructor(private readonly pick: (trial: number) => void, time: () => void) {
    super("trials", "Trials");
    this.toggle = button("Over time", { "aria-pressed": "false" }, time);
    this.tools.append(this.toggle);
  }

  protected make(view: View): ChartContent | undefined {
    this.toggle.setAttribute("aria-pressed", String(view.overTime));
    const q = view.chosen;
    const all = view.trials.filter((t) => t.w === view.workload);
    if (!q || all.length === 0) return undefined;
    const imported = view.data.answer.imported === true;
    const shown = all.filter((t) => view.shown(view.armName(t.a)));
    const good = shown.filter((t) => view.value(t) !== null);
    const failed = shown.filter((t) => t.e);
    const unproved = shown.some((t) => t.p);
    const values = good.map((t) => view.value(t)!);
    const unit = unitFor(q.unit, all.map((t) => view.value(t) ?? 0));
    const blocks = all.some((t) => t.b > 0);
    const times = all.some((t) => t.s >= 0);
    this.toggle.hidden = !times || !blocks;
    const overTime = times && (view.overTime || !blocks);
    const arms = [...new Set(shown.map((t) => t.a))].sort((a, b) => a - b);
    const place = (t: Trial) => {
      if (overTime) return t.s;
      if (!blocks) return t.t;
      return t.b + (arms.length > 1 ? (arms.indexOf(t.a) / (arms.length - 1) - 0.5) * 0.64 : 0);
    };
    const series: Series[] = arms.map((a) => {
      const own = good.filter((t) => t.a === a);
      return {
        name: view.armName(a), style: view.style(view.armName(a)), kind: "line", markers: true,
        class: arms.length > 8 || imported ? "points" : "thread",
        points: own.map((t) => ({ x: place(t), y: view.value(t)!, ref: t })),
      };
    });
    const last = Math.max(1, ...all.map((t) => t.b));
    const order = blocks && !overTime ? "block by block, the arms side by side"
      : imported ? "in the order in which they were read" : "in the order of execution";
    const writeBlock = (v: number) => (Number.isInteger(v) ? String(v) : "");
    return {
      lead: `${view.title}: each dot is a trial, ${order}. ${imported ? "" : "A slope is drift. "}Two groups of `
        + "heights are two modes. Choose a dot for the trial's record.",
      warnings: view.warningsOf("trials"),
      more: failed.length === 0 ? undefined : failedList(view, failed, this.pick),
      spec: {
        id: "trials",
        label: `${view.title}: every trial as a dot`,
        zoomKey: `${view.title} ${overTime}`,
        height: 340,
        labels: true,
        x: overTime
          ? { kind: "linear", label: "seconds since the first trial", write: (v) => String(v) }
          : {
            kind: "linear", label: blocks ? "block" : "trial", write: writeBlock,
            domain: blocks ? [0.4, last + 0.6] : undefined,
          },
        y: {
          kind: wantsLog(values, view.log) ? "log" : "linear", label: nameOf(q) + inUnit(unit),
          quantity: `${nameOf(q)} (${q.unit})`, write: tick(unit),
        },
        series,
        tip: (_, p) => {
          const t = p.ref as Trial;
          const lines: [string, string][] = [[nameOf(q), withUnit(number(p.y, unit), unit)], ["trial", String(t.t)]];
          if (t.b > 0) lines.push(["block", String(t.b)]);
          if (t.p) lines.push(["expectations", oneLine(t.p)]);
          if (t.s >= 0) lines.push(["started", `${t.s.toFixed(1)} s in`]);
          return lines;
        },
        pick: (_, p) => this.pick((p.ref as Trial).t),
      },
      table: () => table(`${view.title}: trials${inUnit(unit)}`,
        [numeric("Trial"), numeric("Block"), "Arm", numeric(nameOf(q)), numeric("Started, s"),
          ...(unproved ? ["Expectations"] : []), "Error"],
        shown.map((t) => {
          const v = view.value(t);
          return {
            cells: [
              String(t.t), t.b > 0 ? String(t.b) : "-", armCell(view, view.armName(t.a)),
              v === null ? "-" : number(v, unit), t.s >= 0 ? t.s.toFixed(2) : "-",
              ...(unproved ? [oneLine(t.p ?? "")] : []), t.e ? oneLine(t.e) : "",
            ],
          };
        })),
    };
  }
}

// failedList lists the failed trials with their reasons.
function failedList(view: View, failed: Trial[], pick: (trial: number) => void): HTMLElement {
  const most = 20;
  const list = el("ul", { class: "failed" });
  for (const t of failed.slice(0, most)) {
    list.append(el("li", {}, button(`trial ${t.t}`, { class: "link" }, () => pick(t.t)),
      ` (${oneLine(view.armName(t.a))}, block ${t.b}): ${oneLine(t.e ?? "")}`));
  }
  if (failed.length > most) list.append(el("li", {}, `and ${failed.length - most} more: see the table`));
  return el("div", {}, el("p", {}, `${failed.length} failed:`), list);
}
