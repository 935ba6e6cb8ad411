import { Plot } from "../chart/plot.ts";
import type { Spec } from "../chart/spec.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, type Child } from "../ui/dom.ts";
import type { View } from "./view.ts";
import type { Warning } from "../data/model.ts";

// Section is a part of the page. It is hidden if it has nothing to show.
export interface Section {
  readonly element: HTMLElement;
  update(view: View): void;
}

// frame makes the section of a part of the page, which is hidden at first.
export function frame(id: string): HTMLElement {
  return el("section", { id, "aria-labelledby": `${id}-title`, hidden: true });
}

// heading is the header of a section, with what stands beside the title.
export function heading(section: HTMLElement, title: string, ...beside: Child[]): HTMLElement {
  return el("header", {}, el("h2", { id: `${section.id}-title` }, title), ...beside);
}

// ChartContent is the content of a chart section.
export interface ChartContent {
  spec: Spec;
  // Explains the drawing and how to read it.
  lead: string;
  table: () => HTMLElement;
  warnings?: Warning[];
  // Shown below the chart, before the table.
  more?: HTMLElement;
}

// ChartSection is a chart with its table.
export abstract class ChartSection implements Section {
  readonly element: HTMLElement;
  readonly plot = new Plot();
  protected readonly tools = el("div", { class: "tools" });
  private readonly lead = el("p", { class: "lead" });
  private readonly warnings = el("ul", { class: "warnings" });
  private readonly more = el("div", { class: "more" });
  private readonly data: HTMLDetailsElement;
  private content: ChartContent | undefined;
  private stale = true;

  constructor(readonly id: string, title: string) {
    this.data = el("details", { class: "data", "data-fold": id }, el("summary", {}, "Table"),
      el("div", { class: "held" }));
    this.data.addEventListener("toggle", () => this.makeTable());
    this.element = frame(id);
    fill(this.element, heading(this.element, title, this.tools), this.lead, this.warnings,
      el("figure", { "aria-labelledby": `${id}-title` }, this.plot.element, this.more, this.data));
  }

  // make gives the content; undefined hides the section.
  protected abstract make(view: View): ChartContent | undefined;

  update(view: View): void {
    this.content = this.make(view);
    this.element.hidden = !this.content;
    if (!this.content) return;
    this.lead.textContent = this.content.lead;
    showWarnings(this.warnings, this.content.warnings ?? []);
    fill(this.more, this.content.more);
    this.plot.show(this.content.spec);
    this.stale = true;
    this.makeTable();
  }

  // open opens the table by default, for charts whose numbers matter as much as the picture.
  protected open(): void {
    this.data.open = true;
    this.data.dataset.rule = "open";
  }

  // makeTable makes the table when the reader opens it, or when the data of an open table have changed.
  private makeTable(): void {
    if (!this.data.open || !this.stale || !this.content) return;
    this.stale = false;
    fill(this.data.lastElementChild!, this.content.table());
  }
}

// warningList is a new list of warnings.
export function warningList(warnings: Warning[]): HTMLElement {
  const list = el("ul", { class: "warnings" });
  showWarnings(list, warnings);
  return list;
}

// showWarnings lists warnings, or hides the list.
export function showWarnings(list: HTMLElement, warnings: Warning[]): void {
  list.hidden = warnings.length === 0;
  fill(list, ...warnings.map((w) => {
    const where = [w.arm, w.workload].filter((s) => s !== "").map(oneLine).join(", ");
    return el("li", {}, el("strong", {}, oneLine(w.code)), where ? ` (${where}): ` : ": ", oneLine(w.message));
  }));
}
