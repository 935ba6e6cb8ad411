import type { Saturation, SaturationArm, SaturationRate } from "../data/model.ts";
import { nameOf } from "../data/model.ts";
import { amount, number, percent, unitFor, type Unit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, type Child } from "../ui/dom.ts";
import { numeric, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import { bounds } from "./values.ts";
import type { View } from "./view.ts";

// SaturationSection says what the arms carry in each sweep of offered rates.
export class SaturationSection implements Section {
  readonly element = frame("saturation");

  update(view: View): void {
    const all = view.data.answer.saturation ?? [];
    this.element.hidden = all.length === 0;
    if (this.element.hidden) return;
    fill(this.element,
      heading(this.element, "Saturation"),
      el("p", { class: "lead" }, "Saturates at: what an arm answers of more than it can, in requests per second. "
        + "Response times are told at fractions of it. An objective is kept up to the rate where the line between two "
        + "rates of the sweep crosses its limit. Medians over blocks, with 95 % intervals, each by itself."),
      ...all.flatMap((s) => [kneeTable(view, s), timesTable(view, s)]));
  }
}

const perSecond: Unit = { factor: 1, name: "/s" };

// rateText writes a rate, or on which side of the sweep it lies.
export function rateText(r: SaturationRate, rates: number[]): string {
  if (r.value !== null) return number(r.value, perSecond);
  if (r.beyond === "above") return `above ${number(Math.max(...rates), perSecond)}`;
  if (r.beyond === "below") return `below ${number(Math.min(...rates), perSecond)}`;
  return "-";
}

function cell(text: string, small: string): Child {
  return el("span", { class: "cell" }, el("span", {}, text), small ? el("span", { class: "small" }, small) : null);
}

function rateCell(r: SaturationRate, rates: number[]): Child {
  return cell(rateText(r, rates), r.interval ? bounds(r.interval, perSecond) : "");
}

function nameOfSweep(s: Saturation): string {
  return `${oneLine(s.workloads[0]!)} to ${oneLine(s.workloads[s.workloads.length - 1]!)}`;
}

function kneeTable(view: View, s: Saturation): HTMLElement {
  const arms = s.arms.filter((a) => view.shown(a.arm));
  const keeps = s.arms[0]?.keeps ?? [];
  return table(`${nameOfSweep(s)}, requests per second`,
    ["Arm", numeric("Saturates at"), numeric("Change"),
      ...keeps.map((k) => numeric(`${nameOf(k)} < ${amount(k.bound, k.unit)} up to`))],
    arms.map((a) => ({
      cells: [
        armCell(view, a.arm), rateCell(a.knee, s.rates),
        a.change ? cell(percent(a.change.value), a.change.interval
          ? `[${a.change.interval.map((v) => (Number.isFinite(v) ? percent(v) : "unbounded")).join(", ")}]` : "") : "-",
        ...(a.keeps ?? []).map((k) => rateCell(k.rate, s.rates)),
      ],
    })));
}

function timesTable(view: View, s: Saturation): Child {
  const arms = s.arms.filter((a) => view.shown(a.arm) && a.at.length > 0);
  if (arms.length === 0) return null;
  const unit = unitFor("s", arms.flatMap((a) => a.at.map((at) => at.value)));
  const time = (a: SaturationArm, fraction: number, stat: string): Child => {
    const at = a.at.find((t) => t.fraction === fraction && t.stat === stat);
    return at ? cell(number(at.value, unit), at.interval ? bounds(at.interval, unit) : "") : "-";
  };
  return table(`${nameOfSweep(s)}, response_time at fractions of where the arm saturates, in ${unit.name}`,
    ["Arm", numeric("Of it"), numeric("Requests per second"), numeric("p50"), numeric("p99")],
    arms.flatMap((a) => [...new Set(a.at.map((at) => at.fraction))].map((fraction) => ({
      cells: [
        armCell(view, a.arm), `${Math.round(100 * fraction)} %`,
        number(a.at.find((at) => at.fraction === fraction)!.rate, perSecond),
        time(a, fraction, "p50"), time(a, fraction, "p99"),
      ],
    }))));
}
