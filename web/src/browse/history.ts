import { Plot } from "../chart/plot.ts";
import type { Point, Series, Spec } from "../chart/spec.ts";
import { markerPath, styleOf } from "../chart/style.ts";
import { nameOf } from "../data/model.ts";
import { inUnit, number, unitFor, withUnit, type Unit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { bounds, tick } from "../report/values.ts";
import { el, fill, svg } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import type { Choice, History, HistoryPoint } from "../data/model.ts";
import { moment } from "./search.ts";

// Asked is the reader's choice: an experiment, one of its figures, and an arm.
export interface Asked {
  experiment: string;
  figure: string;
  arm: string;
}

// figureKey makes a key from the workload, metric, stat and scope of a figure.
export function figureKey(c: Choice): string {
  return JSON.stringify([c.workload, c.metric, c.stat, c.scope ?? ""]);
}

// query gives the address of the data for a choice.
export function query(asked: Asked, choices: Choice[]): string {
  const q = new URLSearchParams({ experiment: asked.experiment });
  const c = choices.find((choice) => figureKey(choice) === asked.figure);
  if (c) {
    const figure = { workload: c.workload, metric: c.metric, stat: c.stat, scope: c.scope ?? "", arm: asked.arm };
    for (const [key, value] of Object.entries(figure)) q.set(key, value);
  }
  return `history.json?${q}`;
}

// settle replaces a choice that is not available: the first available figure or arm takes its place.
export function settle(asked: Asked, choices: Choice[]): Asked {
  const chosen = choices.find((c) => figureKey(c) === asked.figure) ?? choices[0];
  if (!chosen) return { ...asked, figure: "", arm: "" };
  const arm = chosen.arms.includes(asked.arm) ? asked.arm : (chosen.arms[0] ?? "");
  return { ...asked, figure: figureKey(chosen), arm };
}

// HistoryView shows one figure over the runs of an experiment: the controls, a chart and a table.
export class HistoryView {
  readonly element: HTMLElement;
  readonly plot = new Plot();
  private readonly experiment = el("select", { id: "experiment" });
  private readonly figure = el("select", { id: "figure" });
  private readonly arm = el("select", { id: "arm" });
  private readonly lead = el("p", { class: "lead" });
  private readonly chart = el("figure", { "aria-labelledby": "history-title" });
  private readonly legend = el("ul", { class: "legend" });
  private readonly held = el("div", { class: "held" });
  private readonly broken = el("ul", { class: "warnings" });
  private asked: Asked = { experiment: "", figure: "", arm: "" };

  // change is called when the reader chooses something else.
  constructor(change: (asked: Asked) => void) {
    const choose = (select: HTMLSelectElement, key: keyof Asked) =>
      select.addEventListener("change", () => change({ ...this.asked, [key]: select.value }));
    choose(this.experiment, "experiment");
    choose(this.figure, "figure");
    choose(this.arm, "arm");
    const labelled = (text: string, select: HTMLSelectElement) => el("label", {}, `${text} `, select);
    fill(this.chart, this.legend, this.plot.element);
    this.element = el("section", { id: "history", "aria-labelledby": "history-title", hidden: true },
      el("header", {}, el("h2", { id: "history-title", tabindex: -1 }, "History of a figure"),
        el("div", { class: "tools" }, labelled("experiment", this.experiment), labelled("figure", this.figure),
          labelled("arm", this.arm))),
      this.lead, this.broken, this.chart, this.held);
  }

  // reach scrolls to the section and focuses its heading.
  reach(): void {
    this.element.scrollIntoView({ block: "start" });
    this.element.querySelector("h2")!.focus({ preventScroll: true });
  }

  show(experiments: string[], asked: Asked, h: History): void {
    this.asked = asked;
    this.element.hidden = experiments.length === 0;
    options(this.experiment, experiments.map((e) => [e, oneLine(e)]), asked.experiment);
    const figures = h.choices.map((c): [string, string] => [figureKey(c), oneLine(`${c.workload}, ${nameOf(c)}`)]);
    options(this.figure, figures, asked.figure);
    const chosen = h.choices.find((c) => figureKey(c) === asked.figure);
    options(this.arm, (chosen?.arms ?? []).map((a) => [a, oneLine(a)]), asked.arm);
    this.broken.hidden = h.broken.length === 0;
    fill(this.broken, ...h.broken.map((b) => el("li", {}, el("strong", {}, oneLine(b.path)), `: ${oneLine(b.error)}`)));
    const none = !chosen || h.points.length === 0;
    this.chart.hidden = none;
    this.lead.textContent = none ? "The runs of this experiment have no figure yet." : leadOf(h);
    if (none) {
      fill(this.held);
      return;
    }
    const unit = unitFor(chosen.unit, h.points.flatMap((p) => [p.median, ...(p.interval ?? [])]));
    const title = oneLine(`${asked.experiment}: ${chosen.workload}, ${nameOf(chosen)}, ${asked.arm}`);
    const kinds = kindsOf(h.points);
    this.legend.hidden = kinds.length < 2;
    fill(this.legend, ...kinds.map((kind) => el("li", {}, swatch(kind), seriesName(kind))));
    const open = (id: string) => location.assign(`run/${encodeURIComponent(id)}/`);
    this.plot.show(specOf(h.points, unit, title, JSON.stringify(asked), open));
    fill(this.held, tableOf(h.points, unit, title));
  }
}

// leadOf explains how to read the chart.
function leadOf(h: History): string {
  const others = h.points.filter((p) => p.series > 0).length;
  return "Each point is the median over the trials of one run, with its 95 % interval, from the oldest run to the " +
    "newest. Runs are not paired with each other. A change of the machines between two runs is part of their " +
    "difference, but not of an interval." +
    (others > 0 ? ` ${others} of the runs declare the workload or the arm differently from the newest run. They are ` +
      "shown separately, because they are not comparable with it." : "") +
    (h.older_left_out > 0 ? ` ${h.older_left_out} older runs are left out.` : "");
}

// seriesName names the runs with the same declaration.
export function seriesName(series: number): string {
  return series === 0 ? "declared as in the newest run" : `declared differently (${series})`;
}

// kindsOf lists the series of the points.
function kindsOf(points: HistoryPoint[]): number[] {
  return [...new Set(points.map((p) => p.series))].sort((a, b) => a - b);
}

function swatch(kind: number): SVGSVGElement {
  const style = styleOf(kind);
  return svg("svg", { class: `swatch ${style.colour}`, width: 14, height: 14, viewBox: "0 0 14 14",
    "aria-hidden": "true" },
    svg("path", { class: style.solid ? "marker" : "marker open", d: markerPath(style.marker, 7, 7, 4) }));
}

function specOf(points: HistoryPoint[], unit: Unit, title: string, key: string, open: (id: string) => void): Spec {
  const series: Series[] = kindsOf(points).map((kind) => ({
    name: seriesName(kind), style: styleOf(kind), kind: "line", markers: true, whiskers: true,
    points: points.flatMap((p, i): Point[] => (p.series === kind
      ? [{ x: i + 1, y: p.median, low: p.interval?.[0], high: p.interval?.[1], ref: p }] : [])),
  }));
  return {
    id: "history", label: `${title} over ${points.length} runs, oldest first`,
    x: {
      kind: "linear", label: "run, by its start (UTC)", domain: [0.5, points.length + 0.5],
      write: (v) => (points[v - 1] ? moment(points[v - 1]!.started).slice(0, 10) : ""),
    },
    y: { kind: "linear", label: unit.name, write: tick(unit) },
    series, height: 320, zoomKey: key,
    tip: (_, p) => tipOf(p.ref as HistoryPoint, unit),
    pick: (_, p) => open((p.ref as HistoryPoint).id),
  };
}

function tipOf(p: HistoryPoint, unit: Unit): [string, string][] {
  const lines: [string, string][] = [
    ["median", withUnit(number(p.median, unit), unit)],
    ["95 % interval", bounds(p.interval, unit)],
    ["started", moment(p.started)],
    ["trials", String(p.trials)],
    ["with", oneLine(p.versions)],
  ];
  if (p.state !== "complete") lines.push(["state", oneLine(p.state)]);
  for (const d of p.differs.slice(0, 3)) lines.push(["differs", oneLine(d)]);
  return lines;
}

function tableOf(points: HistoryPoint[], unit: Unit, title: string): HTMLElement {
  return table(title + inUnit(unit), [
    "started", "run", numeric("median"), numeric("95 % interval"), numeric("trials"), "state", "measured with",
    "declared differently",
  ], points.toReversed().map((p) => ({
    class: p.series > 0 ? "other" : undefined,
    cells: [
      moment(p.started), el("a", { href: `run/${encodeURIComponent(p.id)}/` }, oneLine(p.path)),
      number(p.median, unit), bounds(p.interval, unit), String(p.trials), oneLine(p.state), oneLine(p.versions),
        oneLine(p.differs.join("; ")),
    ],
  })));
}

// options sets the options of a select, but only if they have changed, because the select may be open.
function options(select: HTMLSelectElement, entries: [string, string][], chosen: string): void {
  const now = [...select.options].map((o) => o.value);
  if (JSON.stringify(now) !== JSON.stringify(entries.map(([value]) => value))) {
    fill(select, ...entries.map(([value, text]) => el("option", { value }, text)));
  }
  select.value = chosen;
}
