import type { Captured, CapturedArm } from "../data/model.ts";
import { number, signed, unitFor, withUnit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { folded, numeric, refill, table } from "../ui/table.ts";
import { armCell, swatch } from "./armcell.ts";
import { frame, heading, warningList, type Section } from "./section.ts";
import { signedBounds } from "./values.ts";
import type { View } from "./view.ts";

// CapturesSection lists at which devices packets of a workload were captured, and what capturing costs.
export class CapturesSection implements Section {
  readonly element = frame("captures");

  update(view: View): void {
    const captured = view.data.answer.captured?.find((c) => c.workload === view.workloadName);
    this.element.hidden = captured === undefined;
    if (!captured) return;
    const arms = captured.arms.filter((a) => view.shown(a.arm));
    const files = arms.flatMap((a) => a.machines.flatMap((m) => m.files));
    refill(this.element,
      heading(this.element, "Captures"),
      warningList(view.warningsOf("captures")),
      el("p", { class: "lead" }, "The devices in the order of the path, with what was captured there in all trials "
        + "together. Each captured trial has a pcapng file in the run directory, for Wireshark and for nearfar import "
        + "--point. No other figure of the page comes from these trials."),
      points(view, arms),
      el("ul", { class: "notes" }, ...arms.map((a) =>
        el("li", {}, swatch(view.style(a.arm)), `${oneLine(a.arm)}: ${costOf(captured, a)}`))),
      files.length > 0
        ? folded(`Files: ${files.length}`, () => el("ul", {}, ...files.map((f) => el("li", {}, oneLine(f)))), "files")
        : null,
    );
  }
}

// points is the table of devices.
function points(view: View, arms: CapturedArm[]): HTMLElement {
  return table("Packets captured at each device",
    ["Arm", "Device", numeric("Packets"), numeric("Dropped"), numeric("Without a time")],
    arms.flatMap((a) => a.machines.flatMap((m) => m.points.map((p) => ({
      cells: [
        armCell(view, a.arm), oneLine(p.name) + (m.side === "both" ? "" : ` (${m.side})`), String(p.packets),
        String(p.dropped), String(p.untimed ?? 0),
      ],
    })))));
}

// costOf says what capturing adds in an arm, or why nothing was captured.
function costOf(captured: Captured, arm: CapturedArm): string {
  if (arm.machines.length === 0) {
    return ["nothing was captured", ...(arm.problems ?? []).map((p) => oneLine(p.text))].join(": ");
  }
  if (!arm.cost || !arm.reported) return "what capturing adds is not known";
  const unit = unitFor("s", [arm.reported.median]);
  const adds = `${withUnit(signed(arm.cost.median, unit), unit)} ${signedBounds(arm.cost.interval, unit)}`;
  return `capturing adds ${adds} to the ${oneLine(captured.quantity)} of `
    + `${withUnit(number(arm.reported.median, unit), unit)} that is captured`;
}
