import type { Comparison } from "./model.ts";

// Judged has the fields that a comparison and a finding share.
export type Judged = Pick<Comparison, "verdict" | "difference" | "better" | "but" | "trials" | "about">;

// Kind is what a comparison shows: a difference, or one of three reasons why there is none. "none": no difference was
// seen, and a difference of the detectable size would have been. "too-few": too little was measured to tell. "refused":
// the two do not measure the same.
export type Kind = "found" | "none" | "too-few" | "refused";

// kindOf gives the kind of a verdict. In answers of older versions, "not-comparable" with a difference means that there
// were too few trials.
export function kindOf(c: Judged): Kind {
  switch (c.verdict) {
    case "higher":
    case "lower":
      return "found";
    case "no-difference":
      return "none";
    case "too-few-blocks":
    case "too-few-trials":
    case "too-few-runs":
    case "too-few-deployments":
    case "single-trial":
      return "too-few";
  }
  return c.difference !== null ? "too-few" : "refused";
}

// kindName writes the kind in words. For a difference it gives the direction, and whether that is better.
export function kindName(c: Judged): string {
  switch (kindOf(c)) {
    case "found":
      if (c.better === "arm") return `${c.verdict} (${c.but ? "better here" : "better"})`;
      return c.better === "baseline" ? `${c.verdict} (worse)` : c.verdict;
    case "none":
      return "no difference seen";
    case "too-few":
      return tooFew(c);
    case "refused":
      return "not comparable";
  }
}

function tooFew(c: Judged): string {
  const single = c.trials !== undefined && c.trials[0] === 1 && c.trials[1] === 1;
  if (c.verdict === "single-trial" || single) return "a single trial a side";
  if (c.verdict === "too-few-deployments") return "too few deployments";
  return c.about === "runs" ? "too few runs" : c.trials ? "too few trials" : "too few blocks";
}

// moreNeeded writes how many more blocks, trials, runs or deployments would show a difference; empty if the answer does
// not say.
export function moreNeeded(c: Comparison): string {
  if (c.deployments) {
    const needed = c.deployments.deployments_needed;
    return needed === null || needed <= 0 ? "" : plural(needed, "deployment");
  }
  const n = c.blocks_needed;
  if (n === null || n <= 0) return "";
  if (c.about === "runs") return `${plural(n, "run")} on each side`;
  return c.trials ? `${plural(n, "trial")} on each side` : plural(n, "block");
}

function plural(n: number, what: string): string {
  return `${n} more ${what}${n === 1 ? "" : "s"}`;
}

// oneBlock says that a difference rests on a single block; empty if it does not.
export function oneBlock(c: Comparison): string {
  return c.one_block_decides ? "rests on one block" : "";
}

// colourOf gives the CSS class for the colour of a comparison: a difference is coloured if one side is better, all else
// is faint. What is better here and worse elsewhere has no colour of its own.
export function colourOf(c: Judged): "better" | "worse" | "sure" | "unsure" {
  if (kindOf(c) !== "found") return "unsure";
  if (c.better === "arm" && c.but) return "sure";
  return c.better === "arm" ? "better" : c.better === "baseline" ? "worse" : "sure";
}
