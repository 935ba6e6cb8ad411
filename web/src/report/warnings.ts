import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { showWarnings, type Section } from "./section.ts";
import type { View } from "./view.ts";

// WarningsSection lists all warnings, and notes about what is missing on the page.
export class WarningsSection implements Section {
  readonly element = el("section", { id: "warnings", "aria-labelledby": "warnings-title" });

  update(view: View): void {
    const { warnings } = view.data.answer;
    this.element.hidden = warnings.length === 0 && view.data.notes.length === 0;
    const list = el("ul", { class: "warnings" });
    showWarnings(list, warnings);
    fill(this.element,
      el("header", {}, el("h2", { id: "warnings-title" }, "All warnings")),
      list,
      view.data.notes.length > 0
        ? el("ul", { class: "notes" }, ...view.data.notes.map((n) => el("li", {}, oneLine(n)))) : null);
  }
}
