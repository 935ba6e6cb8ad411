import type { ArmFact } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { cardTable, folded, refill, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, warningList, type Section } from "./section.ts";
import type { View } from "./view.ts";

// HostsSection lists the facts about the hosts, and those that differ between arms beside their paths.
export class HostsSection implements Section {
  readonly element = frame("hosts");

  update(view: View): void {
    const d = view.data;
    const arms = d.arms.map((a, i) => ({ name: a.name, i })).filter((a) => view.shown(a.name));
    const tool = d.hosts.trials.filter((f) => f.workload === view.workload);
    const differs = [...d.hosts.arms.filter((f) => f.differs && !f.own), ...tool.filter((f) => f.differs && !f.own)];
    const built = [...d.hosts.arms, ...tool].filter((f) => f.own);
    const alike = [...d.hosts.arms.filter((f) => !f.differs && !f.own), ...tool.filter((f) => !f.differs && !f.own)];
    const facts = (caption: string, list: ArmFact[]) => cardTable(caption,
      ["Fact", ...arms.map((a) => armCell(view, a.name))],
      list.map((f) => ({ cells: [oneLine(f.name), ...arms.map((a) => oneLine(f.values[a.i] ?? "") || "-")] })));

    this.element.hidden = d.hosts.arms.length + d.hosts.run.length + d.hosts.trials.length === 0;
    refill(this.element,
      heading(this.element, "Hosts"),
      warningList(view.warningsOf("hosts")),
      differs.length > 0
        ? el("div", { id: "hosts-differ" },
          el("p", { class: "lead" }, "What differs between the arms beside their paths"
            + `${view.workloadName ? ` (${oneLine(view.workloadName)})` : ""}: an effect of the path, such as a `
            + "smaller MTU, or something that should be the same."),
          facts("Facts that differ between arms", differs))
        : el("p", { class: "lead" }, "No recorded fact differs between the arms beside their paths and addresses."),
      alike.length > 0 ? folded(`Facts that are the same in all arms: ${alike.length}`, () => pairs(
        "Facts that are the same in all arms", alike.map((f) => [f.name, f.values.find((v) => v !== "") ?? ""])),
          "alike")
        : null,
      built.length > 0
        ? folded("Addresses and counters", () => facts("Addresses and counters", built), "built") : null,
      d.hosts.run.length > 0
        ? folded(`The machine: ${d.hosts.run.length} ${d.hosts.run.length === 1 ? "fact" : "facts"}`, () => pairs(
          "Facts of the whole run", d.hosts.run.map((f) => [f.name, f.value])), "machine") : null,
      d.hosts.varying.length > 0
        ? el("p", { class: "lead" }, "These facts differ from trial to trial, and are in the trials' records: "
          + `${d.hosts.varying.map(oneLine).join(", ")}.`) : null,
    );
  }
}

// pairs is a table of facts that have one value.
function pairs(caption: string, facts: [string, string][]): HTMLElement {
  return table(caption, ["Fact", "Value"],
    facts.map(([name, value]) => ({ cells: [oneLine(name), oneLine(value)] })));
}
