import { openIntervals, pageVersion, type Course, type Curve, type Data, type Trial } from "../data/model.ts";
import { unpack } from "../data/unpack.ts";
import { el, fill } from "../ui/dom.ts";
import { none, parsed, written, type Choices } from "./address.ts";
import { Arms } from "./arms.ts";
import { BlocksSection } from "./blocks.ts";
import { CapturesSection } from "./captures.ts";
import { Checks } from "./checks.ts";
import { Controls } from "./controls.ts";
import { Differences } from "./differences.ts";
import { Glance } from "./glance.ts";
import { Goodput } from "./goodput.ts";
import { Head } from "./head.ts";
import { helpDialog } from "./help.ts";
import { CommandsSection } from "./commands.ts";
import { FailuresSection } from "./failures.ts";
import { FindingsSection } from "./findings.ts";
import { HostsSection } from "./hosts.ts";
import { InsideSection } from "./inside.ts";
import { Layers } from "./layers.ts";
import { MeaningSection } from "./meaning.ts";
import { EarlierSection, NoiseSection } from "./noise.ts";
import { LoadCurve } from "./load.ts";
import { Paths } from "./paths.ts";
import { Distribution, Percentiles } from "./percentiles.ts";
import { ProofSection } from "./proof.ts";
import { RecordsSection } from "./records.ts";
import { SaturationSection } from "./saturation.ts";
import { ChartSection, type Section } from "./section.ts";
import { Quantiles, Sides } from "./sides.ts";
import { Trials } from "./trials.ts";
import { View } from "./view.ts";
import { WarningsSection } from "./warnings.ts";
import { WithinTrial } from "./course.ts";

// How many charts of latency against load a page draws.
const maxLoads = 4;

// Page is the report: its sections, and the reader's choices.
export class Page {
  readonly controls: Controls;
  private view: View | undefined;
  private readonly sections: Section[];
  private readonly help = helpDialog();
  private readonly main = el("main");
  private readonly findings: FindingsSection;
  private readonly layers = new Layers();
  private readonly glance: Glance;
  private readonly differences: Differences;
  // The choices in the address, until the reader chooses something else.
  private wanted: Choices | undefined = parsed(location.hash);
  // Counts the calls of show, so that older data that unpack slowly do not replace newer data.
  private shows = 0;
  // When all was drawn, in milliseconds since the page was requested.
  private shownAt = 0;

  constructor(root: HTMLElement) {
    const records = new RecordsSection();
    this.controls = new Controls({
      workload: (i) => this.change((v) => v.choose(i)),
      quantity: (i) => this.change((v) => (v.quantity = i)),
      toggle: (arm) => this.change((v) => (v.hidden.delete(arm) ? undefined : v.hidden.add(arm))),
      showAll: () => this.change((v) => v.hidden.clear()),
      only: (arm) => this.change((v) => {
        for (const a of v.data.arms) v.hidden.add(a.name);
        v.hidden.delete(arm);
      }),
      emphasize: (arm) => this.charts().forEach((c) => c.plot.emphasize(arm)),
      log: () => this.toggleLog(),
      help: () => this.showHelp(),
    });
    const head = new Head();
    const choose = (q: number, section?: string) => {
      this.change((v) => {
        v.workload = v.data.quantities[q]!.workload;
        v.quantity = q;
      });
      if (section) document.getElementById(section)?.scrollIntoView({ block: "start" });
    };
    this.findings = new FindingsSection(choose);
    this.glance = new Glance(choose);
    this.differences = new Differences(() => this.change((v) => (v.relative = !v.relative)));
    const trials = new Trials((trial) => void records.open(trial),
      () => this.change((v) => (v.overTime = !v.overTime)));
    const proof = new ProofSection((trial) => {
      const short = this.view?.trials.find((t) => t.t === trial);
      if (short && short.w !== this.view?.workload) this.change((v) => v.choose(short.w));
      void records.open(trial);
    });
    const parts: Section[] = [
      new NoiseSection(), this.glance, new Paths(), proof, new Arms(), this.differences, new BlocksSection(),
      new EarlierSection(), this.layers, new MeaningSection(), new InsideSection(), new CapturesSection(),
      new Percentiles(), new Distribution(), trials, new WithinTrial(), new Goodput(),
      ...Array.from({ length: maxLoads }, (_, i) => new LoadCurve(i)),
      new SaturationSection(),
      new Quantiles(), new Sides(), new HostsSection(), new CommandsSection(), records, new WarningsSection(),
    ];
    const checks = new Checks();
    const failures = new FailuresSection();
    this.sections = [head, checks, failures, this.findings, this.controls, ...parts];
    fill(this.main, checks.element, failures.element, this.findings.element, this.controls.element,
      ...parts.map((p) => p.element));
    fill(root, head.element, this.main,
      el("footer", {}, "Made by nearfar. The page holds all that it shows; how to read it is in docs/report.md."),
        this.help);
    // "toggle" does not bubble, so listen in the capture phase.
    root.addEventListener("toggle", (e) => {
      if (e.target instanceof HTMLElement && e.target.dataset.fold !== undefined) this.remember();
    }, true);
    window.addEventListener("hashchange", () => {
      this.wanted = parsed(location.hash);
      if (this.wanted && this.view) this.obey(this.view);
    });
    document.addEventListener("keydown", (e) => this.key(e));
  }

  // show draws the data, and keeps the reader's choices.
  async show(data: Data): Promise<void> {
    if (data.nearfar !== "v1" || data.page !== pageVersion) {
      throw new Error(`this page draws version ${pageVersion} of its data, and this is version ${data.page}`);
    }
    openIntervals(data);
    const turn = ++this.shows;
    const first = this.view === undefined;
    const view = new View(data, this.view);
    if (first) {
      // Draw what needs no unpacking at once.
      this.view = view;
      this.arrange(view);
      this.obey(view);
    }
    const [trials, curves, courses] = await Promise.all([
      unpack<Trial[]>(data.trials), unpack<Curve[]>(data.curves), unpack<Course[]>(data.courses),
    ]);
    if (turn !== this.shows) return;
    // The reader may have chosen something while the data were unpacked.
    const now = new View(data, this.view);
    Object.assign(now, { trials, curves, courses });
    this.view = now;
    this.obey(now);
    this.shownAt = performance.now();
    // For whoever waits until all is drawn.
    document.documentElement.dataset.shown = String(turn);
  }

  // state gives the choices and the drawn charts, for tests.
  state(): unknown {
    const v = this.view;
    return {
      workload: v?.workloadName, quantity: v?.chosen, hidden: [...(v?.hidden ?? [])], shownAt: this.shownAt,
      charts: this.charts().filter((c) => !c.element.hidden).map((c) => c.plot.drawn()),
    };
  }

  private charts(): ChartSection[] {
    return this.sections.filter((s) => s instanceof ChartSection);
  }

  private change(how: (view: View) => unknown): void {
    if (!this.view) return;
    this.wanted = undefined;
    how(this.view);
    this.draw();
    this.remember();
  }

  // arrange puts the differences first if there is only one arm to compare, and the picture of the layers before the
  // findings if the answer begins with a layer.
  private arrange(view: View): void {
    const compared = new Set(view.data.answer.comparisons.map((c) => c.arm));
    if (compared.size === 1) this.glance.element.before(this.differences.element);
    if (view.layersLead) this.findings.element.before(this.layers.element);
  }

  // obey applies the choices in the address.
  private obey(view: View): void {
    const wanted = this.wanted;
    if (wanted) view.take(wanted);
    this.draw();
    if (!wanted) return;
    for (const fold of this.folds()) {
      const open = wanted.open.includes(fold.dataset.fold!)
        || (fold.dataset.rule === "open" && !wanted.closed.includes(fold.dataset.fold!));
      if (fold.open !== open) fold.open = open;
    }
  }

  // remember writes the choices into the address.
  private remember(): void {
    if (!this.view) return;
    const folds = this.folds();
    const choices: Choices = {
      ...none(), ...this.view.choices(),
      open: folds.filter((f) => f.open && f.dataset.rule !== "open").map((f) => f.dataset.fold!),
      closed: folds.filter((f) => !f.open && f.dataset.rule === "open").map((f) => f.dataset.fold!),
    };
    const text = written(choices);
    if (text !== location.hash.slice(1) && (text !== "" || parsed(location.hash))) {
      history.replaceState(history.state, "", text === "" ? location.pathname + location.search : `#${text}`);
    }
  }

  private folds(): HTMLDetailsElement[] {
    return [...document.querySelectorAll<HTMLDetailsElement>("details[data-fold]")];
  }

  private draw(): void {
    for (const section of this.sections) section.update(this.view!);
  }

  private toggleLog(): void {
    this.change((v) => (v.log = v.log === undefined ? true : v.log ? false : undefined));
  }

  private showHelp(): void {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  // key handles the keys that help.ts lists.
  private key(e: KeyboardEvent): void {
    const typing = e.target instanceof HTMLSelectElement || e.target instanceof HTMLInputElement;
    if (e.ctrlKey || e.metaKey || e.altKey || typing || !this.view) return;
    const v = this.view;
    if (e.key >= "1" && e.key <= "9") {
      const arm = v.data.arms[Number(e.key) - 1];
      if (arm) this.change(() => (v.hidden.delete(arm.name) ? undefined : v.hidden.add(arm.name)));
    } else if (e.key === "0") this.change(() => v.hidden.clear());
    else if (e.key === "w" || e.key === "W") {
      this.change(() => v.choose(next(v.workloadsWithFigures(), v.workload, e.key === "w" ? 1 : -1)));
    } else if (e.key === "m" || e.key === "M") {
      const own = v.quantitiesOf(v.workload).map((q) => v.data.quantities.indexOf(q));
      this.change(() => (v.quantity = next(own, v.quantity, e.key === "m" ? 1 : -1)));
    } else if (e.key === "l") this.toggleLog();
    else if (e.key === "t") this.controls.theme.click();
    else if (e.key === "j" || e.key === "k") this.go(e.key === "j" ? 1 : -1);
    else if (e.key === "?") this.showHelp();
    else return;
    e.preventDefault();
  }

  // go scrolls to the next section of the page; to the one before if step is negative.
  private go(step: number): void {
    const shown = [...this.main.querySelectorAll<HTMLElement>(":scope > section")].filter((s) => !s.hidden);
    const top = this.controls.element.getBoundingClientRect().bottom;
    const places = shown.map((s) => s.getBoundingClientRect().top - top);
    const target = step > 0 ? shown[places.findIndex((p) => p > 24)] : shown[places.findLastIndex((p) => p < -8)];
    target?.scrollIntoView({ block: "start" });
  }
}

// next gives the entry that is step places after now in a list. The list wraps around at its ends.
export function next(list: number[], now: number, step: number): number {
  if (list.length === 0) return now;
  return list[(list.indexOf(now) + step + list.length) % list.length]!;
}
