import type { Comparison } from "./model.ts";

// Judged is what a comparison and a finding have in common.
export type Judged = Pick<Comparison, "verdict" | "difference" | "better" | "trials" | "about">;

// What a comparison says. There are three kinds of nothing, which mean different things: no difference was seen, and from what size
// on one would have been; there was too little to tell; or the two do not measure the same.
export type Kind = "found" | "none" | "too-few" | "refused";

// kindOf sorts a comparison by its verdict. "not-comparable" with a difference is what older answers say of too few trials.
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
    case "single-trial":
      return "too-few";
  }
  return c.difference !== null ? "too-few" : "refused";
}

// kindName is the kind in words; for a difference it is which way, and whether that is better.
export function kindName(c: Judged): string {
  switch (kindOf(c)) {
    case "found":
      return c.better === "arm" ? `${c.verdict} (better)` : c.better === "baseline" ? `${c.verdict} (worse)` : c.verdict;
    case "none":
      return "no difference seen";
    case "too-few":
      return tooFew(c);
    case "refused":
      return "not comparable";
  }
}

function tooFew(c: Judged): string {
  if (c.verdict === "single-trial" || (c.trials && c.trials[0] === 1 && c.trials[1] === 1)) return "a single trial a side";
  return c.about === "runs" ? "too few runs" : c.trials ? "too few trials" : "too few blocks";
}

// moreNeeded says how many more blocks or trials the answer asks for; empty where it does not.
export function moreNeeded(c: Comparison): string {
  const n = c.blocks_needed;
  if (n === null || n <= 0) return "";
  if (c.about === "runs") return `${n} more ${n === 1 ? "run" : "runs"} on each side`;
  return c.trials ? `${n} more ${n === 1 ? "trial" : "trials"} on each side` : `${n} more ${n === 1 ? "block" : "blocks"}`;
}

// mood says how a comparison is coloured: only a difference that is shown, and only where one side is better.
export function mood(c: Judged): "better" | "worse" | "sure" | "unsure" {
  if (kindOf(c) !== "found") return "unsure";
  return c.better === "arm" ? "better" : c.better === "baseline" ? "worse" : "sure";
}
