import { nameOf } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill } from "../ui/dom.ts";
import { themeButton } from "../ui/theme.ts";
import { swatch } from "./armcell.ts";
import type { Status } from "./live.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// Actions are the effects of the controls on the page.
export interface Actions {
  workload(index: number): void;
  quantity(index: number): void;
  toggle(arm: string): void;
  showAll(): void;
  only(arm: string): void;
  emphasize(arm: string | undefined): void;
  log(): void;
  help(): void;
}

// Controls let the reader choose workload, metric and arms. They stay at the top of the window.
export class Controls implements Section {
  readonly element = el("nav", { class: "controls", "aria-label": "What is shown" });
  readonly theme = themeButton();
  private readonly live = el("span", { class: "live", role: "status", hidden: true });
  private readonly progress = el("progress", { "aria-label": "Trials that have ended", hidden: true });
  private readonly workloads = el("select", { id: "workload", "aria-label": "Workload" });
  private readonly quantities = el("select", { id: "quantity", "aria-label": "Metric" });
  private readonly log: HTMLButtonElement;
  private readonly all: HTMLButtonElement;
  private readonly arms = el("div", { class: "arms", role: "group", "aria-label": "Arms: press to hide or show" });

  constructor(private readonly actions: Actions) {
    this.workloads.addEventListener("change", () => actions.workload(Number(this.workloads.value)));
    this.quantities.addEventListener("change", () => actions.quantity(Number(this.quantities.value)));
    this.log = button("Log axes", { "aria-pressed": "false" }, () => actions.log());
    this.all = button("All arms", { class: "all" }, () => actions.showAll());
    this.element.append(
      el("div", { class: "row" },
        el("label", {}, "Workload ", this.workloads), el("label", {}, "Metric ", this.quantities),
        this.log, this.progress, this.live, el("span", { class: "space" }), this.theme,
        button("Keys (?)", {}, () => actions.help())),
      this.arms);
  }

  // tell shows how far the run is that the page follows.
  tell(status: Status): void {
    this.live.hidden = false;
    this.live.textContent = status.text;
    this.progress.hidden = status.total === undefined;
    this.progress.max = status.total ?? 1;
    this.progress.value = status.done ?? 0;
  }

  update(view: View): void {
    const option = (value: number, text: string, selected: boolean) => el("option", { value, selected }, text);
    fill(this.workloads, ...view.workloadsWithFigures().map((w) =>
      option(w, oneLine(view.data.workloads[w]?.name ?? ""), w === view.workload)));
    fill(this.quantities, ...view.quantitiesOf(view.workload).map((q) => {
      const i = view.data.quantities.indexOf(q);
      return option(i, nameOf(q) + (q.compared ? "" : " (not compared)"), i === view.quantity);
    }));
    this.log.setAttribute("aria-pressed", String(view.log === true));
    this.all.hidden = view.hidden.size === 0;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.arm : undefined;
    fill(this.arms, ...view.data.arms.map((arm, i) => {
      const b = button("", {
        class: "chip", "aria-pressed": String(view.shown(arm.name)), "data-arm": arm.name,
        title: (i < 9 ? `key ${i + 1}; ` : "") + "Shift and click: only this arm",
      }, () => {});
      b.append(swatch(view.style(arm.name)), oneLine(arm.name));
      b.addEventListener("click", (e) => (e.shiftKey ? this.actions.only(arm.name) : this.actions.toggle(arm.name)));
      b.addEventListener("pointerenter", () => this.actions.emphasize(arm.name));
      b.addEventListener("pointerleave", () => this.actions.emphasize(undefined));
      return b;
    }), this.all);
    if (focused === undefined) return;
    for (const c of this.arms.querySelectorAll<HTMLElement>(".chip")) if (c.dataset.arm === focused) c.focus();
  }
}
