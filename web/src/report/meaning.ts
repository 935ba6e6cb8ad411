import type { Added, AddedArm, Interval, Meaning, MeaningEstimate } from "../data/model.ts";
import { inUnit, number, signed, unitFor, withUnit, type Unit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { nameOf } from "../data/model.ts";
import { el, fill, type Child } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import { bounds, signedBounds } from "./values.ts";
import type { View } from "./view.ts";

// MeaningSection relates what an application takes longer to what a round trip takes longer, and calculates that for a
// page of the reader's.
export class MeaningSection implements Section {
  readonly element = frame("meaning");
  private readonly calculator = new Calculator();

  update(view: View): void {
    const all = view.data.answer.meaning ?? [];
    this.element.hidden = all.length === 0;
    if (this.element.hidden) return;
    const added = view.data.answer.added;
    fill(this.element,
      heading(this.element, "What a difference means for an application"),
      ...all.flatMap((m) => [el("p", {}, `${oneLine(m.workload)}: ${oneLine(m.text)}`), meaningTable(view, m)]),
      added ? this.calculator.show(view, added) : null);
  }
}

// meaningTable has a row for each arm; nothing if nothing is said.
function meaningTable(view: View, m: Meaning): Child {
  if (!m.slope) return null;
  const arms = m.arms.filter((a) => view.shown(a.arm));
  const app = unitFor(m.unit, arms.map((a) => a.application.value));
  const trip = unitFor("s", arms.map((a) => a.round_trip.value));
  const remains = arms.some((a) => a.remains);
  const plain: Unit = { factor: 1, name: "" };
  const columns = [
    `${oneLine(m.workload)}${inUnit(app)}`, `${oneLine(m.round_trip)}${inUnit(trip)}`, "Times as much",
    ...(remains ? [`Remains${inUnit(app)}`] : []),
  ];
  return el("div", {},
    table(`${oneLine(m.workload)}, ${nameOf(m)}, against rtt ${m.round_trip_stat} of ${oneLine(m.round_trip)}`,
      ["Arm", ...columns.map(numeric)],
      arms.map((a) => ({
        cells: [
          armCell(view, a.arm, a.unproved ? ["unproved"] : []), cell(a.application, app, signed),
          cell(a.round_trip, trip, signed), cell(a.worth, plain, number),
          ...(remains ? [cell(a.remains, app, signed)] : []),
        ],
      }))),
    el("p", { class: "lead" }, "Differences from the baseline with their 95 % intervals, each by itself. Times as much: "
      + "the application's difference over that of the round trip, by the arm alone. "
      + (remains ? `Remains: what ${m.trips} whole round trips leave of the difference. ` : "")
      + (m.left ?? []).map((l) => `${oneLine(l.arm)} is left out: ${oneLine(l.reason)}.`).join(" ")));
}

// cell writes a figure above its interval.
function cell(e: MeaningEstimate | null, unit: Unit, write: (v: number, u: Unit) => string): Child {
  if (!e) return "-";
  return el("span", { class: "cell" }, el("span", {}, write(e.value, unit)),
    el("span", { class: "small" }, bounds(e.interval, unit, write)));
}

// most is the greatest number that the calculator takes.
const most = 1e9;

// addedTime is what so many round trips and bytes take longer in an arm, in seconds. The sum of the intervals holds
// with the confidence that was divided between them. Undefined if one of the two is not known.
export function addedTime(
  arm: AddedArm, trips: number, bytes: number,
): { value: number; interval: Interval } | undefined {
  let value = 0;
  let interval: Interval = [0, 0];
  for (const [each, count] of [[arm.each_round_trip, trips], [arm.each_byte, bytes]] as const) {
    if (count === 0) continue;
    if (!each) return undefined;
    value += count * each.value;
    interval = interval && each.interval
      ? [interval[0] + count * each.interval[0], interval[1] + count * each.interval[1]] : null;
  }
  return { value, interval };
}

// countOf reads a number of the reader's; undefined if it is none.
export function countOf(text: string): number | undefined {
  const n = Number(text);
  return text.trim() === "" || !Number.isFinite(n) || n < 0 || n > most ? undefined : n;
}

// Calculator says how much longer a page of the reader's takes. It keeps what the reader has typed.
class Calculator {
  private readonly trips = field("40", "How many round trips the page makes, one after the other");
  private readonly kilobytes = field("0", "How many kB the page loads");
  private readonly result = el("div", { "aria-live": "polite" });
  private shown: { view: View; added: Added } | undefined;

  constructor() {
    for (const input of [this.trips, this.kilobytes]) input.addEventListener("input", () => this.calculate());
  }

  show(view: View, added: Added): HTMLElement {
    this.shown = { view, added };
    this.calculate();
    return el("div", { id: "calculator" }, el("h3", {}, "My own page"),
      el("p", { class: "row" }, "My page makes ", this.trips, " round trips, one after the other",
        ...(added.stream ? [", and loads ", this.kilobytes, " kB"] : []), ". It takes longer by:"),
      this.result,
      el("p", { class: "lead" }, `From this run alone: a round trip is one of ${oneLine(added.round_trip)}`
        + (added.stream ? `, and a byte takes what the goodput of ${oneLine(added.stream)} gives it. ` : ". ")
        + "Intervals hold with 95 % confidence or more. Not for: requests that are under way at the same time; a new "
        + "connection, which is a round trip more, and TLS another; another size or load than was measured"
        + (added.stream ? "; few bytes, since a connection begins slowly" : "; bytes, of which this run says nothing")
        + "; other hosts."));
  }

  private calculate(): void {
    if (!this.shown) return;
    const { view, added } = this.shown;
    const trips = countOf(this.trips.value);
    const kilobytes = added.stream ? countOf(this.kilobytes.value) : 0;
    for (const [input, value] of [[this.trips, trips], [this.kilobytes, kilobytes]] as const) {
      input.setAttribute("aria-invalid", String(value === undefined));
    }
    if (trips === undefined || kilobytes === undefined) {
      fill(this.result, el("p", { class: "caution" }, "Write numbers from 0 to a thousand million."));
      return;
    }
    const arms = added.arms.filter((a) => view.shown(a.arm));
    const sums = arms.map((a) => addedTime(a, trips, 1000 * kilobytes));
    const unit = unitFor("s", sums.map((s) => s?.value ?? 0));
    fill(this.result, table("What the page takes longer", ["Arm", numeric("Longer by"), numeric("95 % interval")],
      arms.map((a, i) => {
        const sum = sums[i];
        return {
          cells: [armCell(view, a.arm), sum ? withUnit(signed(sum.value, unit), unit) : "not known",
            sum ? withUnit(signedBounds(sum.interval, unit), unit) : "-"],
        };
      })));
  }
}

function field(value: string, label: string): HTMLInputElement {
  return el("input", { type: "number", min: 0, max: most, step: "any", value, "aria-label": label, class: "count" });
}
