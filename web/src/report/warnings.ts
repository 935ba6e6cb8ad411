import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { frame, heading, warningList, type Section } from "./section.ts";
import type { View } from "./view.ts";

// WarningsSection lists all warnings, and notes about what is missing on the page.
export class WarningsSection implements Section {
  readonly element = frame("warnings");

  update(view: View): void {
    const { warnings } = view.data.answer;
    this.element.hidden = warnings.length === 0 && view.data.notes.length === 0;
    fill(this.element,
      heading(this.element, "All warnings"),
      warningList(warnings),
      view.data.notes.length > 0
        ? el("ul", { class: "notes" }, ...view.data.notes.map((n) => el("li", {}, oneLine(n)))) : null);
  }
}
