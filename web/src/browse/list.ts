import { oneLine } from "../format/visible.ts";
import { button, el, fill } from "../ui/dom.ts";
import { table, type Row } from "../ui/table.ts";
import type { Run } from "./model.ts";
import { matches, moment, stateOf } from "./search.ts";

// How many runs are shown before more are asked for.
const page = 100;

// RunList is the table of runs with its search.
export class RunList {
  readonly element: HTMLElement;
  readonly search = el("input", {
    type: "search", id: "search", placeholder: "name, question, arm, state", autocomplete: "off", spellcheck: "false", "aria-describedby": "found",
  });
  private readonly found = el("p", { id: "found", class: "lead", role: "status" });
  private readonly held = el("div", { class: "held" });
  private runs: Run[] = [];
  private most = page;

  // pick is called with the name of an experiment whose history is asked for.
  constructor(private readonly pick: (experiment: string) => void) {
    this.search.addEventListener("input", () => {
      this.most = page;
      this.draw();
    });
    this.element = el("section", { id: "runs", "aria-labelledby": "runs-title" },
      el("header", {}, el("h2", { id: "runs-title" }, "Runs"),
        el("div", { class: "tools" }, el("label", { for: "search" }, "Search ", el("kbd", {}, "/")), this.search)),
      this.found, this.held);
  }

  show(runs: Run[]): void {
    this.runs = runs;
    this.draw();
  }

  private draw(): void {
    const found = this.runs.filter((r) => matches(r, this.search.value));
    const shown = found.slice(0, this.most);
    this.found.textContent = this.runs.length === 0
      ? "There is no run yet. One that is made in this folder appears here."
      : `${found.length} of ${this.runs.length} runs, newest first. Times are UTC.`;
    const now = Date.now();
    fill(this.held,
      found.length === 0 ? null : table("Runs", [
        { title: "started" }, { title: "experiment" }, { title: "question" }, { title: "state" }, { title: "trials", numeric: true }, { title: "arms" },
        { title: "history" },
      ], shown.map((r) => this.row(r, now))),
      found.length === shown.length ? null : button(`Show ${Math.min(page, found.length - shown.length)} more`, { class: "show-more" }, () => {
        this.most += page;
        this.draw();
      }));
  }

  private row(r: Run, now: number): Row {
    const state = stateOf(r, now);
    if (r.error) {
      return { class: "unreadable", cells: [moment(r.changed), el("span", { title: oneLine(r.path) }, oneLine(r.path)), oneLine(r.error), state, "", "", ""] };
    }
    return {
      class: state === "running" || state === "complete" ? `state-${state}` : "state-other",
      cells: [
        moment(r.started),
        el("a", { href: `run/${encodeURIComponent(r.id)}/`, title: oneLine(r.path) }, oneLine(r.name)),
        el("span", { class: "one-line", title: oneLine(r.question) }, oneLine(r.question)), state, r.planned === r.trials ? String(r.trials) : `${r.trials} of ${r.planned}`, armsOf(r),
        button("show", { "aria-label": `History of ${oneLine(r.name)}` }, () => this.pick(r.name)),
      ],
    };
  }
}

// armsOf lists the first arms; all of them are in the title.
function armsOf(r: Run): HTMLElement {
  const first = r.arms.slice(0, 4).join(", ");
  const more = r.arms.length > 4 ? ` and ${r.arms.length - 4} more` : "";
  return el("span", { class: "one-line", title: oneLine(r.arms.join(", ")) }, oneLine(first) + more);
}
