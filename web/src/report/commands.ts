import { templates, type Template, type Word } from "../data/commands.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// CommandsSection shows the exact command lines of the chosen workload once, and a table of the words that differ
// between arms.
export class CommandsSection implements Section {
  readonly element = frame("commands");
  private readonly lead = el("p", { class: "lead" });
  private readonly body = el("div");
  private readonly fold = el("details", { class: "commands", "data-fold": "commands" },
    el("summary", {}, "Show the command lines"), this.body);

  constructor() {
    this.element.append(heading(this.element, "Command lines"), this.lead, this.fold);
  }

  update(view: View): void {
    const own = view.data.commands.filter((c) => c.workload === view.workload && view.shown(view.armName(c.arm)));
    this.element.hidden = own.length === 0;
    const workload = view.data.workloads[view.workload];
    this.lead.textContent = `${oneLine(view.workloadName)}: ${oneLine(workload?.description ?? "")}. `
      + "The server's line comes first, then the client's; lines of a background follow.";
    const varied = own.filter((c) => c.variants > 1).map((c) => `${oneLine(view.armName(c.arm))} (${c.variants})`);
    fill(this.body,
      ...templates(own.map((c) => ({ arm: view.armName(c.arm), lines: c.lines }))).map((t) => templateOf(view, t)),
      varied.length > 0 ? el("p", { class: "note" },
        "These are the lines of each arm's first trial. Other trials of these "
        + `arms had other lines, which are in their records: ${varied.join(", ")}.`) : null);
  }
}

// slot names a word that differs between arms.
function slot(column: number): string {
  return `\u2039${column + 1}\u203a`;
}

function templateOf(view: View, t: Template): HTMLElement {
  const write = (w: Word) =>
    ("text" in w ? oneLine(w.text) : el("mark", { title: "differs between arms" }, slot(w.column)));
  const several = t.columns.length > 0 ? "These arms; marked words differ" : "The same in all arms";
  const line = (words: Word[]) => words.flatMap((w, i) => (i === 0 ? [write(w)] : [" ", write(w)]));
  return el("div", { class: "command" },
    el("h3", {}, t.arms.length === 1 ? armCell(view, t.arms[0]!) : several),
    ...t.lines.map((words) => el("pre", {}, el("code", {}, ...line(words)))),
    t.columns.length > 0
      ? table("Words that differ", ["Arm", ...t.columns.map((_, i) => slot(i))],
        t.arms.map((arm, a) => ({
          cells: [armCell(view, arm), ...t.columns.map((c) => el("code", {}, oneLine(c[a]!)))],
        })))
      : null);
}
