import type { Point, Series } from "../chart/spec.ts";
import { styleOf } from "../chart/style.ts";
import { inUnit, number, share, signed, unitFor, withUnit, type Unit } from "../format/scale.ts";
import type {
  Inside, InsideAgainst, InsideArm, InsideChange, InsideMachine, InsideMeasure, InsideStep, StepKind,
} from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell, swatch } from "./armcell.ts";
import { ChartSection, type ChartContent } from "./section.ts";
import { bounds, signedBounds, tick } from "./values.ts";
import type { View } from "./view.ts";

// The kinds of steps, in the order in which a packet meets them. Each has a colour.
export const kinds: StepKind[] = [
  "send", "queue", "device", "wire", "encapsulate", "softirq", "bridge", "forward", "decapsulate", "gro", "deliver",
  "wake", "run-queue", "read", "return", "program", "answer", "resend",
];

// Segment is a part of a bar.
export interface Segment {
  step: InsideStep;
  value: number;
  // The lines of the tip below the value.
  about: [string, string][];
}

// Bar is a row of the chart.
export interface Bar {
  name: string;
  segments: Segment[];
}

// stacked gives the points of bars. Positive segments follow each other to the right of zero, negative ones to the
// left.
export function stacked(bars: Bar[]): { step: InsideStep; point: Point }[] {
  return bars.flatMap((bar, y) => {
    let up = 0;
    let down = 0;
    return bar.segments.map((s) => {
      const from = s.value < 0 ? down : up;
      const x = from + s.value;
      if (s.value < 0) down = x;
      else up = x;
      return { step: s.step, point: { x, y, from, ref: s } };
    });
  });
}

// elementName names an element without its direction. veth is what a lab is made of, and is not said.
export function elementName(s: InsideStep): string {
  const kind = s.device_kind !== s.device && s.device_kind !== "veth" ? s.device_kind : "";
  const about = [kind, s.tunnel].filter((text) => text).join(", ");
  return oneLine(s.kind + (s.device ? ` ${s.device}` : "") + (about && ` [${about}]`) + (s.place ? ` in ${s.place}` : ""));
}

// seriesOf makes a series of each kind and direction that occurs.
function seriesOf(bars: Bar[]): Series[] {
  const points = stacked(bars);
  return kinds.flatMap((kind, i) => ["request", "reply"].map((way): Series => ({
    name: `${kind}, ${way}`, style: styleOf(i), kind: "bar", along: "x", class: way,
    points: points.filter((p) => p.step.kind === kind && p.step.way === way).map((p) => p.point),
  }))).filter((s) => s.points.length > 0);
}

const medians = "median";
const tails = "p99";
const differences = "differences";

// InsideSection draws where the time of round trips went: a bar for each arm, of the elements of its path in their
// order.
export class InsideSection extends ChartSection {
  private readonly choice = el("select", { "aria-label": "What the bars show" });
  private view: View | undefined;

  constructor() {
    super("inside", "Inside the path");
    this.choice.addEventListener("change", () => {
      if (this.view) this.update(this.view);
    });
    fill(this.tools, this.choice);
  }

  protected make(view: View): ChartContent | undefined {
    this.view = view;
    const inside = view.data.answer.inside?.find((i) => i.workload === view.workloadName);
    if (!inside) return undefined;
    const arms = inside.arms.filter((a) => view.shown(a.arm));
    this.offer(arms, (inside.against ?? []).length > 0);
    const chosen = this.choice.value;
    const against = (inside.against ?? []).filter((a) => view.shown(a.arm));
    const bars = chosen === differences ? against.map(changeBar)
      : arms.flatMap((a) => a.machines.map((m) => elementBar(a, m, chosen)));
    const unit = unitFor("s", bars.map((b) => b.segments.reduce((sum, s) => sum + Math.abs(s.value), 0)));
    const write = chosen === differences ? signed : number;
    const what = chosen === differences ? `difference from ${oneLine(view.data.answer.baseline)}` : "time";
    return {
      lead: leads(chosen) + " Request, then reply (paler). From trials that were watched, which no other figure of "
        + "the page comes from; docs/inside.md says what each element is.",
      warnings: view.warningsOf("inside"),
      more: el("div", {}, legend(bars), notes(view, inside, arms, against, unit)),
      spec: {
        id: "inside",
        label: `Where the time of ${oneLine(inside.workload)} goes, element by element`,
        zoomKey: `${inside.workload} ${chosen}`,
        height: 60 + 32 * Math.max(1, bars.length),
        x: {
          kind: "linear", label: what + inUnit(unit), quantity: `${what} (s)`, write: tick(unit), zero: true,
          one: unit.factor,
        },
        y: { kind: "rows", label: "", quantity: "arm", write: String, rows: bars.map((b) => b.name) },
        rule: { axis: "x", at: 0 },
        series: seriesOf(bars),
        tip: (_, p) => {
          const s = p.ref as Segment;
          return [
            [elementName(s.step), withUnit(write(s.value, unit), unit)], ["direction", s.step.way],
            ...s.about.map(([name, text]): [string, string] => [name, text]),
          ];
        },
      },
      table: () => (chosen === differences ? changeTable(view, against, unit) : elementTable(view, arms, unit)),
    };
  }

  // offer lists what there is to choose, and keeps the choice if it is still there.
  private offer(arms: InsideArm[], compared: boolean): void {
    const slow = Math.max(0, ...arms.flatMap((a) => a.machines.map((m) => (m.slowest ?? []).length)));
    const all: [string, string][] = [[medians, "p50 of each element"], [tails, "p99 of each element"]];
    if (compared) all.push([differences, "differences from the baseline"]);
    for (let i = 0; i < slow; i++) all.push([String(i), i === 0 ? "the slowest trip" : `the slow trip no. ${i + 1}`]);
    const now = all.some(([value]) => value === this.choice.value) ? this.choice.value : medians;
    fill(this.choice, ...all.map(([value, text]) => el("option", { value, selected: value === now }, text)));
  }
}

function leads(chosen: string): string {
  switch (chosen) {
    case medians:
      return "The time in each element of the path: medians over trials of the trials' medians.";
    case tails:
      return "The 99th percentile of each element: medians over trials. They do not add up to a trip's.";
    case differences:
      return "Where the difference of each arm from the baseline arises, the largest first: paired within blocks.";
  }
  return "One of the slowest trips of all trials, element by element.";
}

// elementBar is the bar of what one kernel saw of an arm.
function elementBar(arm: InsideArm, m: InsideMachine, chosen: string): Bar {
  const name = oneLine(arm.arm) + (m.side === "both" ? "" : ` (${m.side})`);
  const trip = chosen === medians || chosen === tails ? undefined : m.slowest?.[Number(chosen)];
  const segments = m.elements.map((e, i): Segment => {
    const value = chosen === medians ? e.median : chosen === tails ? e.p99 ?? 0 : trip?.spans?.[i] ?? 0;
    const unit = unitFor("s", [e.median]);
    const about: [string, string][] = [
      ["median", withUnit(number(e.median, unit), unit)], ["95 % interval", withUnit(bounds(e.interval, unit), unit)],
      ["p99", e.p99 === null ? "too few trips" : withUnit(number(e.p99, unit), unit)],
    ];
    if (m.sum && chosen === medians) about.push(["of the trip", share(e.median / m.sum.median)]);
    if (trip?.cause) about.push(["slow because of", trip.cause]);
    return { step: e, value, about };
  });
  return { name, segments };
}

// changeBar is the bar of the differences of an arm.
function changeBar(a: InsideAgainst): Bar {
  return {
    name: oneLine(a.arm),
    segments: a.elements.map((c) => ({
      step: c, value: c.median,
      about: [["95 % interval", withUnit(signedBounds(c.interval, unitFor("s", [c.median])), unitFor("s", [c.median]))],
        ...(c.only ? [["only in", oneLine(c.only === "arm" ? a.arm : a.baseline)] as [string, string]] : [])],
    })),
  };
}

// legend names the colours of the kinds that occur.
function legend(bars: Bar[]): HTMLElement {
  const there = new Set(bars.flatMap((b) => b.segments.map((s) => s.step.kind)));
  return el("ul", { class: "legend", "aria-label": "Colours of the elements" },
    ...kinds.flatMap((kind, i) => (there.has(kind)
      ? [el("li", {}, el("span", { class: `patch ${styleOf(i).colour}`, "aria-hidden": "true" }), kind)] : [])));
}

// notes are what else is known: what watching costs, how much was seen, why the slowest were slow, and both methods.
function notes(
  view: View, inside: Inside, arms: InsideArm[], against: InsideAgainst[], unit: Unit,
): HTMLElement {
  const measure = (m: InsideMeasure, write = signed) =>
    `${withUnit(write(m.median, unit), unit)} ${bounds(m.interval, unit, write)}`;
  const item = (arm: string, text: string) => el("li", {}, swatch(view.style(arm)), `${oneLine(arm)}: ${text}`);
  const lines = arms.flatMap((a) => {
    if (a.machines.length === 0) {
      const why = (a.problems ?? []).map((p) => oneLine(p.text)).join("; ");
      return [item(a.arm, `unknown${why ? `: ${why}` : ""}`)];
    }
    const all: string[] = [];
    if (a.cost) all.push(`watching adds ${measure(a.cost)} to the ${inside.quantity}`);
    if (a.ratio) {
      all.push(`the elements sum to ${(100 * a.ratio.median).toFixed(1)} % of the round trip that the tool reports`);
    }
    if (a.between) all.push(`between the machines ${measure(a.between, number)}, both directions together`);
    for (const m of a.machines) {
      const of = m.side === "both" ? "" : ` on the ${m.side}'s machine`;
      const path = m.paths > 1 ? `, ${share(m.share)} of them on this path of ${m.paths}` : "";
      all.push(`${m.complete} of ${m.sampled} round trips were seen whole${of}, ${m.lost} lost, ${m.events} events`
        + path);
      if (m.slow > 0) {
        const causes = (m.causes ?? []).map((c) => `${c.cause} ${share(c.share)} (${c.trips})`).join(", ");
        all.push(`the slowest ${m.slow}${of}, over all trials: ${causes}`);
      }
    }
    return [item(a.arm, all.join("; "))];
  });
  const both = against.filter((a) => a.subtracted).map((a) => item(a.arm,
    [a.own ? `the elements of ${(a.layers ?? []).map(oneLine).join(", ")} ${measure(a.own)}` : "",
      a.sum ? `all elements ${measure(a.sum)}` : "", `by subtraction, not watched, ${measure(a.subtracted!)}`]
      .filter((text) => text !== "").join("; ")));
  const layers = inside.layers ?? [];
  const alone = layers.length < 2 ? [] : layers.filter((l) => view.shown(l.arm)).map((l) => item(l.arm,
    [`${l.count > 1 ? `${l.count} ` : ""}${oneLine(l.layer)}, less ${oneLine(l.other)}: its elements ${
      l.own ? measure(l.own) : "unknown"}`,
      l.corrected ? `without recording ${measure(l.corrected)}` : "",
      l.subtracted ? `by subtraction ${measure(l.subtracted)}` : "",
      l.attributed ? `over all arms ${measure(l.attributed)}` : ""].filter((text) => text !== "").join("; ")));
  return el("ul", { class: "notes" }, ...lines, ...both, ...alone);
}

function elementTable(view: View, arms: InsideArm[], unit: Unit): HTMLElement {
  return table(`Time in each element${inUnit(unit)}`,
    ["Arm", "Direction", "Element", numeric("Median"), numeric("95 % interval"), numeric("p99")],
    arms.flatMap((a) => a.machines.flatMap((m) => m.elements.map((e) => ({
      cells: [
        armCell(view, a.arm), e.way, elementName(e) + (m.side === "both" ? "" : ` (${m.side})`), number(e.median, unit),
        bounds(e.interval, unit), e.p99 === null ? "-" : number(e.p99, unit),
      ],
    })))));
}

function changeTable(view: View, against: InsideAgainst[], unit: Unit): HTMLElement {
  const about = (a: InsideAgainst, c: InsideChange) =>
    (c.only ? `only in ${oneLine(c.only === "arm" ? a.arm : a.baseline)}` : "");
  return table(`Difference in each element${inUnit(unit)}`,
    ["Arm", "Direction", "Element", numeric("Difference"), numeric("95 % interval"), ""],
    against.flatMap((a) => a.elements.map((c) => ({
      cells: [
        armCell(view, a.arm), c.way, elementName(c) + (c.side === "both" ? "" : ` (${c.side})`), signed(c.median, unit),
        signedBounds(c.interval, unit), about(a, c),
      ],
    }))));
}
