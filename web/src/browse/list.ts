import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { table, type Row } from "../ui/table.ts";
import type { Run, Summary } from "./model.ts";
import { begun, matches, moment, objectivesOf, stateOf, trialsOf } from "./search.ts";

// How many runs are shown before more are asked for.
const page = 50;

// RunList is the table of runs with its search, and the choice of two of them.
export class RunList {
  readonly element: HTMLElement;
  readonly search = el("input", {
    type: "search", id: "search", placeholder: "name, question, arm, state", autocomplete: "off", spellcheck: "false", "aria-describedby": "found",
  });
  private readonly found = el("p", { id: "found", class: "lead", role: "status" });
  private readonly held = el("div", { class: "held" });
  private readonly pair = el("p", { class: "pair", role: "status" });
  private runs: Run[] = [];
  private most = page;
  // The ids of the runs that are chosen, the baseline first.
  private chosen: string[] = [];
  // The verdicts that have arrived, by what the run was when they were asked for.
  private readonly summaries = new Map<string, Summary | undefined>();

  // pick is called with the name of an experiment whose history is asked for, ask with the ids of runs whose verdicts are wanted.
  constructor(private readonly pick: (experiment: string) => void, private readonly ask: (ids: string[]) => Promise<Record<string, Summary>>) {
    this.search.addEventListener("input", () => {
      this.most = page;
      this.draw();
    });
    this.element = el("section", { id: "runs", "aria-labelledby": "runs-title" },
      el("header", {}, el("h2", { id: "runs-title" }, "Runs"),
        el("div", { class: "tools" }, el("label", { for: "search" }, "Search ", el("kbd", {}, "/")), this.search)),
      this.found, this.pair, this.held);
  }

  show(runs: Run[]): void {
    this.runs = runs;
    this.chosen = this.chosen.filter((id) => runs.some((r) => r.id === id));
    this.draw();
  }

  private draw(): void {
    const found = this.runs.filter((r) => matches(r, this.search.value));
    const shown = found.slice(0, this.most);
    this.found.textContent = this.runs.length === 0
      ? "There is no run yet. One that is made in this folder appears here."
      : `${found.length} of ${this.runs.length} runs, newest first. Times are UTC.`;
    this.drawPair();
    const now = Date.now();
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.id : "";
    fill(this.held,
      found.length === 0 ? null : table("Runs", [
        { title: "experiment" }, { title: "verdict" }, { title: "warnings", numeric: true }, { title: "objectives" }, { title: "state" },
        { title: "trials", numeric: true }, { title: "started" }, { title: "arms" }, { title: "compare" }, { title: "history" },
      ], shown.map((r) => this.row(r, now))),
      found.length === shown.length ? null : button(`Show ${Math.min(page, found.length - shown.length)} more`, { class: "show-more" }, () => {
        this.most += page;
        this.draw();
      }));
    if (focused.startsWith("compare-")) document.getElementById(focused)?.focus();
    this.fetch(shown);
  }

  // fetch asks for the verdicts of runs that are shown and have none yet, a few at a time. A run that goes on has none: making it
  // again after each trial would disturb what is measured.
  private fetch(shown: Run[]): void {
    const missing = shown.filter((r) => !r.error && r.state !== "running" && !this.summaries.has(key(r))).slice(0, 10);
    if (missing.length === 0) return;
    for (const r of missing) this.summaries.set(key(r), undefined);
    this.ask(missing.map((r) => r.id)).then((all) => {
      for (const r of missing) this.summaries.set(key(r), all[r.id]);
      this.draw();
    }).catch(() => {
      for (const r of missing) this.summaries.delete(key(r)); // the next look at the list asks again
    });
  }

  private row(r: Run, now: number): Row {
    const state = stateOf(r, now);
    if (r.error) {
      return { class: "unreadable", cells: [el("span", { title: oneLine(r.path) }, oneLine(r.path)), oneLine(r.error), "", "", state, "", moment(r.changed), "", "", ""] };
    }
    const summary = this.summaries.get(key(r));
    return {
      class: state === "running" || state === "complete" ? `state-${state}` : "state-other",
      cells: [
        el("span", { class: "name" }, el("a", { href: `run/${encodeURIComponent(r.id)}/`, title: oneLine(r.path) }, oneLine(r.name)),
          r.question ? el("span", { class: "question small", title: oneLine(r.question) }, oneLine(r.question)) : null),
        verdictOf(summary), summary && !summary.error ? String(summary.warnings) : "",
        summary ? el("span", { class: summary.objectives?.missed ? "worse" : "" }, objectivesOf(summary.objectives) || "-") : "", state, trialsOf(r), begun(r), armsOf(r),
        this.choice(r), button("show", { "aria-label": `History of ${oneLine(r.name)}` }, () => this.pick(r.name)),
      ],
    };
  }

  // choice is the box that chooses a run for a comparison; a third one takes the place of the second.
  private choice(r: Run): HTMLElement {
    const at = this.chosen.indexOf(r.id);
    const box = el("input", { type: "checkbox", id: `compare-${r.id}`, checked: at >= 0, "aria-label": `Compare ${oneLine(r.path)}` });
    box.addEventListener("change", () => {
      this.chosen = box.checked ? [...this.chosen.slice(0, 1), r.id] : this.chosen.filter((id) => id !== r.id);
      this.draw();
    });
    return el("label", { class: "choice" }, box, at >= 0 ? ["A", "B"][at]! : "");
  }

  private drawPair(): void {
    const [base, other] = this.chosen.map((id) => this.runs.find((r) => r.id === id));
    this.pair.hidden = !base;
    const name = (r: Run) => `${oneLine(r.name)} (${begun(r)})`;
    fill(this.pair, ...(base && other
      ? [el("a", { class: "go", href: `compare/${encodeURIComponent(base.id)}/${encodeURIComponent(other.id)}/` }, "Compare"), ` B, ${name(other)}, against A, ${name(base)}. `,
        button("Swap", {}, () => {
          this.chosen.reverse();
          this.draw();
        })]
      : base ? [`A is ${name(base)}: choose another run to compare it with.`] : []));
  }
}

// key changes when the run does.
function key(r: Run): string {
  return `${r.id} ${r.changed ?? ""}`;
}

function verdictOf(s: Summary | undefined): Child {
  if (!s) return "";
  const text = oneLine(s.error ?? s.verdict);
  return el("span", { class: s.error ? "verdict worse" : "verdict", title: text }, text);
}

// armsOf lists the first arms; all of them are in the title.
function armsOf(r: Run): HTMLElement {
  const first = r.arms.slice(0, 4).join(", ");
  const more = r.arms.length > 4 ? ` and ${r.arms.length - 4} more` : "";
  return el("span", { class: "one-line", title: oneLine(r.arms.join(", ")) }, oneLine(first) + more);
}
