import { nameOf, type DetectableAt, type Earlier, type Floor, type NoiseFloor, type Quantity } from "../data/model.ts";
import { amount, number, probability, share, signed, span, unitFor, withUnit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, type Child } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { frame, heading, warningList, type Section } from "./section.ts";
import { bounds } from "./values.ts";
import { partOf, type Part, type View } from "./view.ts";

// NoiseSection shows the noise floor of a baseline: how much trials scatter, which differences are found, and the plan
// that finds the wanted one.
export class NoiseSection implements Section {
  readonly element = frame("noise");

  update(view: View): void {
    const floor = view.data.answer.noise_floor;
    this.element.hidden = !floor || floor.figures.length === 0;
    if (!floor || this.element.hidden) return;
    fill(this.element,
      heading(this.element, `Noise of ${oneLine(floor.arm)} on these hosts`),
      warningsOf(view, "noise"), soundText(floor), selfDifferences(floor),
      floor.recommended ? el("p", { id: "recommended" }, oneLine(floor.recommended.text)) : null,
      scatterTable(floor.figures), foundTable(floor), plansTable(floor));
  }
}

// EarlierSection shows what an earlier baseline of the hosts says about the run.
export class EarlierSection implements Section {
  readonly element = frame("earlier");

  update(view: View): void {
    const earlier = view.data.answer.earlier_baseline;
    this.element.hidden = !earlier;
    if (!earlier) return;
    fill(this.element,
      heading(this.element, "What a baseline of these hosts saw"),
      warningsOf(view, "earlier"),
      earlier.sound ? null
        : unsound("It saw a difference where there is none: these hosts or this design are not sound."),
      el("p", { class: "lead" }, `Measured on ${oneLine(earlier.started.slice(0, 10))} with ${oneLine(earlier.arm)} `
        + `against itself (${oneLine(earlier.run)}). The differences are those that the blocks, trials and `
        + "comparisons of this run find four times in five."),
      earlierTable(earlier));
  }
}

// warningsOf lists the warnings of a part, for all workloads: its tables show all.
function warningsOf(view: View, part: Part): HTMLElement {
  return warningList(view.data.answer.warnings.filter((w) => partOf(w.code) === part));
}

function unsound(text: string): HTMLElement {
  return el("p", { class: "unproved" }, text);
}

function soundText(floor: NoiseFloor): HTMLElement {
  const arm = oneLine(floor.arm);
  if (floor.sound) return el("p", {}, `${arm} does not differ from itself, as it must be.`);
  return unsound(`${arm} differs from itself. There is no difference, so these machines or this design are not sound: `
    + "do not trust differences that they show.");
}

// figureName names a quantity of a workload: "rr, rtt p50".
function figureName(f: Quantity & { workload: string }): string {
  return oneLine(`${f.workload}, ${nameOf(f)}`);
}

function selfDifferences(floor: NoiseFloor): Child {
  const all = floor.differs ?? [];
  if (all.length === 0) return null;
  return cardTable("Where the arm differs from itself",
    ["Figure", numeric("Difference"), numeric("p")],
    all.map((d) => {
      const unit = unitFor(d.unit, [d.difference]);
      return { cells: [figureName(d), withUnit(signed(d.difference, unit), unit), probability(d.p_value)] };
    }));
}

// scatter writes a scatter in the unit of its figure, with its share of the level.
function scatter(value: number | null, f: { level: number; unit: string }): Child {
  if (value === null) return "-";
  return both(f.level > 0 ? share(value / f.level) : "", amount(value, f.unit));
}

// both writes a relative figure above the absolute one; the absolute one alone without it.
function both(relative: string, absolute: string): Child {
  if (relative === "") return absolute;
  return el("span", { class: "cell" }, el("span", {}, relative), el("span", { class: "small" }, absolute));
}

function scatterTable(figures: Floor[]): HTMLElement {
  const short = figures.some((f) => f.short_duration_seconds !== null);
  return el("div", { id: "scatter" }, el("h3", {}, "Scatter"),
    el("p", { class: "lead" }, "Standard deviations of the bulk. Between: of blocks, which cancels in differences. "
      + "Within: of trials in one block."
      + (short ? " Short: within, for short trials. Fixed: the part of the variance within blocks that longer trials "
        + "do not shrink." : "")),
    cardTable("Scatter of the trials",
      ["Figure", numeric("Median"), numeric("Trial"), numeric("Blocks"), numeric("Between"), numeric("Within"),
        ...(short ? [numeric("Short"), numeric("Fixed")] : [])],
      figures.map((f) => ({
        cells: [
          figureName(f), amount(f.level, f.unit), span(f.duration_seconds), String(f.pairs),
          scatter(f.sd_between_blocks, f), scatter(f.sd_within_blocks, f),
          ...(short ? [shortScatter(f), f.fixed_share === null ? "-" : `${Math.round(100 * f.fixed_share)} %`] : []),
        ],
      }))));
}

// shortScatter is the scatter within blocks of short trials, with their duration.
function shortScatter(f: Floor): Child {
  if (f.short_duration_seconds === null) return "-";
  return el("span", {}, scatter(f.sd_within_blocks_short, f),
    el("span", { class: "small" }, ` in ${span(f.short_duration_seconds)}`));
}

// found writes a difference that is found, relative and absolute.
function found(d: DetectableAt | undefined, unit: string): Child {
  if (!d || d.difference === null) return "none";
  const text = both(d.relative === null ? "" : share(d.relative), amount(d.difference, unit));
  if (!uncertain(d)) return text;
  const scale = unitFor(unit, (d.interval ?? []).filter(Number.isFinite));
  return el("span", { class: "cell" }, text,
    el("span", { class: "small caution" }, withUnit(bounds(d.interval ?? null, scale), scale)));
}

// uncertain says that the true difference can be less than half of the predicted one, or more than twice as large.
export function uncertain(d: DetectableAt): boolean {
  if (d.difference === null || !d.interval) return false;
  return 2 * d.interval[0] < d.difference || d.interval[1] > 2 * d.difference;
}

function foundTable(floor: NoiseFloor): HTMLElement {
  const counts = [...new Set(floor.figures.flatMap((f) => f.detectable.map((d) => d.blocks)))].sort((a, b) => a - b);
  const comparisons = floor.comparisons === 1 ? "1 comparison" : `${floor.comparisons} comparisons`;
  const caption = `Smallest difference found, with ${comparisons}`;
  return el("div", { id: "found" }, el("h3", {}, "Smallest difference found"),
    el("p", { class: "lead" }, "The smallest true difference that so many blocks find four times in five, corrected "
      + `for the ${comparisons} of ${oneLine(floor.experiment)}, which has ${floor.blocks} blocks. None: so few blocks `
      + "show no difference, however large."
      + (floor.figures.some((f) => f.detectable.some(uncertain))
        ? " An interval below a difference: the blocks of this baseline do not tell it well, and the true one lies "
          + "within, with a confidence of 90 %." : "")),
    cardTable(caption, ["Figure", ...counts.map((n) => numeric(`${n} blocks`))],
      floor.figures.map((f) => ({
        cells: [figureName(f), ...counts.map((n) => found(f.detectable.find((d) => d.blocks === n), f.unit))],
      }))));
}

function plansTable(floor: NoiseFloor): Child {
  const rows = floor.figures.filter((f) => f.resolve);
  if (rows.length === 0) return null;
  const title = `Blocks that find ${oneLine(floor.resolve ?? "the wanted difference")}`;
  return el("div", { id: "plans" }, el("h3", {}, title),
    el("p", { class: "lead" }, "Blocks: with trials as long as in the file. Cheapest: the blocks and the duration of a "
      + "trial that take the least time for this figure alone."),
    cardTable(title, ["Figure", numeric("Difference"), numeric("Blocks"), "Cheapest"],
      rows.map((f) => {
        const r = f.resolve!;
        return {
          cells: [figureName(f), amount(r.difference, f.unit), r.blocks === null ? "-" : String(r.blocks),
            r.cheapest_blocks === null || r.cheapest_duration_seconds === null ? "no plan finds it"
              : `${r.cheapest_blocks} blocks of ${span(r.cheapest_duration_seconds)}`],
        };
      })));
}

function earlierTable(earlier: Earlier): HTMLElement {
  return cardTable("What the baseline says about this run",
    ["Figure", numeric("Finds"), numeric("With blocks"), numeric("Median then"), numeric("Scatter then"),
      numeric("Blocks then")],
    earlier.figures.map((f) => {
      const unit = unitFor(f.unit, [f.level]);
      return {
        cells: [figureName(f), found(f, f.unit), String(f.blocks), withUnit(number(f.level, unit), unit),
          scatter(f.sd_overall, f), String(f.pairs)],
      };
    }));
}
