import { templates, type Template, type Word } from "../data/commands.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// CommandsSection has the exact command lines of the chosen workload once, and beside them what differs between arms.
export class CommandsSection implements Section {
  readonly element = el("section", { id: "commands", "aria-labelledby": "commands-title" });
  private readonly lead = el("p", { class: "lead" });
  private readonly body = el("div");
  private readonly fold = el("details", { class: "commands", "data-fold": "commands" }, el("summary", {}, "Show the command lines"), this.body);

  constructor() {
    this.element.append(el("header", {}, el("h2", { id: "commands-title" }, "Command lines")), this.lead, this.fold);
  }

  update(view: View): void {
    const own = view.data.commands.filter((c) => c.workload === view.workload && view.shown(view.armName(c.arm)));
    this.element.hidden = own.length === 0;
    const workload = view.data.workloads[view.workload];
    this.lead.textContent = `${oneLine(view.workloadName)}: ${oneLine(workload?.description ?? "")}. Server first, then the client; those of a background follow.`;
    const varied = own.filter((c) => c.variants > 1).map((c) => `${oneLine(view.armName(c.arm))} (${c.variants})`);
    fill(this.body,
      ...templates(own.map((c) => ({ arm: view.armName(c.arm), lines: c.lines }))).map((t) => templateOf(view, t)),
      varied.length > 0 ? el("p", { class: "note" }, `Shown are those of each arm's first trial. These arms had several sets of lines, and each trial's record has its own: ${varied.join(", ")}.`) : null);
  }
}

// slot names a place that differs.
function slot(column: number): string {
  return `\u2039${column + 1}\u203a`;
}

function templateOf(view: View, t: Template): HTMLElement {
  // One arm has nothing that differs; its words stand where they belong.
  const write = (w: Word) => ("text" in w ? oneLine(w.text) : el("mark", { title: "differs between arms" }, slot(w.column)));
  return el("div", { class: "command" },
    el("h3", {}, t.arms.length === 1 ? armCell(view, t.arms[0]!) : t.columns.length > 0 ? "All of these arms, but for what is marked" : "The same in all arms"),
    ...t.lines.map((line) => el("pre", {}, el("code", {}, ...line.flatMap((w, i) => (i === 0 ? [write(w)] : [" ", write(w)]))))),
    t.columns.length > 0
      ? table("What differs", [{ title: "Arm" }, ...t.columns.map((_, i) => ({ title: slot(i) }))],
        t.arms.map((arm, a) => ({ cells: [armCell(view, arm), ...t.columns.map((c) => el("code", {}, oneLine(c[a]!)))] })))
      : null);
}
