import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { cardTable, numeric, type Row } from "../ui/table.ts";
import type { Run, Summary } from "../data/model.ts";
import { begun, matches, moment, objectivesOf, stateOf, trialsOf } from "./search.ts";

// How many runs are shown before the reader asks for more.
const page = 50;

// RunList is the table of runs, with a search and the choice of two runs to compare.
export class RunList {
  readonly element: HTMLElement;
  readonly search = el("input", {
    type: "search", id: "search", placeholder: "name, question, arm, state", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "found",
  });
  private readonly found = el("p", { id: "found", class: "lead", role: "status" });
  private readonly held = el("div", { class: "held" });
  private readonly pair = el("p", { class: "pair", role: "status" });
  private runs: Run[] = [];
  private most = page;
  // The ids of the chosen runs, the baseline first.
  private chosen: string[] = [];
  // The verdicts, by the key of the run. A request for an undefined one is under way.
  private readonly summaries = new Map<string, Summary | undefined>();

  // pick is called to show the history of an experiment. ask fetches the verdicts of runs by their ids.
  constructor(
    private readonly pick: (experiment: string) => void,
    private readonly ask: (ids: string[]) => Promise<Record<string, Summary>>,
  ) {
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
      ? "There is no run yet. New runs in this folder appear here."
      : `${found.length} of ${this.runs.length} runs, newest first. Times are UTC.`;
    this.drawPair();
    const now = Date.now();
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.id : "";
    fill(this.held,
      found.length === 0 ? null : cardTable("Runs", [
        "experiment", "verdict", numeric("warnings"), "objectives", "state", numeric("trials"), "started", "arms",
        "compare", "history",
      ], shown.map((r) => this.row(r, now))),
      found.length === shown.length ? null : this.moreButton(found.length - shown.length));
    if (focused.startsWith("compare-")) document.getElementById(focused)?.focus();
    this.fetch(shown);
  }

  private moreButton(left: number): HTMLButtonElement {
    return button(`Show ${Math.min(page, left)} more`, { class: "show-more" }, () => {
      this.most += page;
      this.draw();
    });
  }

  // fetch asks for the missing verdicts of shown runs, a few at a time. A run in progress has no verdict here, because
  // computing it after each trial would disturb the measurement.
  private fetch(shown: Run[]): void {
    const lacks = (r: Run) => !r.error && r.state !== "running" && !this.summaries.has(key(r));
    const missing = shown.filter(lacks).slice(0, 10);
    if (missing.length === 0) return;
    for (const r of missing) this.summaries.set(key(r), undefined);
    this.ask(missing.map((r) => r.id)).then((all) => {
      for (const r of missing) this.summaries.set(key(r), all[r.id]);
      this.draw();
    }).catch(() => {
      for (const r of missing) this.summaries.delete(key(r)); // ask again when the list is drawn next
    });
  }

  private row(r: Run, now: number): Row {
    const state = stateOf(r, now);
    if (r.error) {
      const path = el("span", { title: oneLine(r.path) }, oneLine(r.path));
      const cells = [path, oneLine(r.error), "", "", state, "", moment(r.changed), "", "", ""];
      return { class: "unreadable", cells };
    }
    const summary = this.summaries.get(key(r));
    return {
      class: state === "running" || state === "complete" ? `state-${state}` : "state-other",
      cells: [
        el("span", { class: "name" }, el("a", { href: `run/${encodeURIComponent(r.id)}/`, title: oneLine(r.path) },
          oneLine(r.name)),
          r.question ? el("span", { class: "question small", title: oneLine(r.question) }, oneLine(r.question)) : null),
        verdictOf(summary), summary && !summary.error ? String(summary.warnings) : "",
        summary ? el("span", { class: summary.objectives?.missed ? "worse" : "" }, objectivesOf(summary.objectives)
          || "-") : "", state, trialsOf(r), begun(r), armsOf(r),
        this.choice(r), button("show", { "aria-label": `History of ${oneLine(r.name)}` }, () => this.pick(r.name)),
      ],
    };
  }

  // choice is the checkbox that chooses a run for a comparison. A third run replaces the second.
  private choice(r: Run): HTMLElement {
    const at = this.chosen.indexOf(r.id);
    const label = `Compare ${oneLine(r.path)}`;
    const box = el("input", { type: "checkbox", id: `compare-${r.id}`, checked: at >= 0, "aria-label": label });
    box.addEventListener("change", () => {
      const others = this.chosen.filter((id) => id !== r.id);
      this.chosen = box.checked ? [...others.slice(0, 1), r.id] : others;
      this.draw();
    });
    return el("label", { class: "choice" }, box, at >= 0 ? ["A", "B"][at]! : "");
  }

  private drawPair(): void {
    const [base, other] = this.chosen.map((id) => this.runs.find((r) => r.id === id));
    this.pair.hidden = !base;
    const name = (r: Run) => `${oneLine(r.name)} (${begun(r)})`;
    if (!base || !other) {
      fill(this.pair, base ? `A is ${name(base)}: choose another run to compare it with.` : null);
      return;
    }
    const href = `compare/${encodeURIComponent(base.id)}/${encodeURIComponent(other.id)}/`;
    fill(this.pair, el("a", { class: "go", href }, "Compare"), ` B, ${name(other)}, against A, ${name(base)}. `,
      button("Swap", {}, () => {
        this.chosen.reverse();
        this.draw();
      }));
  }
}

// key identifies a run and its last change.
function key(r: Run): string {
  return `${r.id} ${r.changed ?? ""}`;
}

function verdictOf(s: Summary | undefined): Child {
  if (!s) return "";
  const text = oneLine(s.error ?? (s.headline || s.verdict));
  return el("span", { class: s.error ? "verdict worse" : "verdict", title: oneLine(s.error ?? s.verdict) }, text);
}

// armsOf lists the first arms. The title has all of them.
function armsOf(r: Run): HTMLElement {
  const first = r.arms.slice(0, 4).join(", ");
  const more = r.arms.length > 4 ? ` and ${r.arms.length - 4} more` : "";
  return el("span", { class: "one-line", title: oneLine(r.arms.join(", ")) }, oneLine(first) + more);
}
