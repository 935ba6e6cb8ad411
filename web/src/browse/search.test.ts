import { expect, test } from "vitest";
import type { Run } from "../data/model.ts";
import { begun, experiments, matches, moment, objectivesOf, span, stateOf, trialsOf } from "./search.ts";

const run = (more: Partial<Run> = {}): Run => ({
  id: "1", path: "team/20261121T192200Z-overlay", name: "overlay", question: "How much does a Router add?",
    baseline: "l2",
  arms: ["l2", "vxlan-flat"], workloads: ["rr-1k"], state: "complete", started: "2026-11-21T19:22:05Z",
    changed: "2026-11-21T19:23:00Z",
  trials: 14, planned: 14, ...more,
});

test("a search finds runs by name, question, arms, workloads, state and path, in upper or lower case", () => {
  for (const search of ["", "  ", "overlay", "ROUTER", "vxlan", "rr-1k", "complete", "team/2026",
    "overlay flat router"]) {
    expect(matches(run(), search), search).toBe(true);
  }
  for (const search of ["zones", "overlay zones", "broken", "l2vxlan"]) {
    expect(matches(run(), search), search).toBe(false);
  }
});

test("runs that cannot be read are found by their error", () => {
  const broken = run({ error: "run.json is not a regular file", name: "", state: "" });
  expect(matches(broken, "broken regular")).toBe(true);
  expect(stateOf(broken, 0)).toBe("cannot be read");
});

test("experiments are listed once each, the newest first", () => {
  expect(experiments([run({ name: "b" }), run({ name: "a" }), run({ name: "b" }),
    run({ name: "c", error: "x" })])).toEqual(["b", "a"]);
});

test("a running run that has not changed for a while is silent", () => {
  const changed = Date.parse("2026-11-21T19:23:00Z");
  expect(stateOf(run({ state: "running" }), changed + 60_000)).toBe("running");
  expect(stateOf(run({ state: "running" }), changed + 3 * 3_600_000)).toBe("running, but silent for 3 h");
  expect(stateOf(run({ state: "interrupted" }), changed + 3 * 3_600_000)).toBe("interrupted");
});

test("times", () => {
  expect(moment("2026-11-21T19:22:05Z")).toBe("2026-11-21 19:22");
  expect(moment(undefined)).toBe("-");
  expect(moment("soon")).toBe("-");
  expect([span(20 * 60_000), span(119.9 * 60_000), span(180 * 60_000), span(72 * 3_600_000)]).toEqual(["20 min",
    "119 min", "3 h", "3 days"]);
});

test("an import has no start and no planned trials", () => {
  const imported = run({ imported: true, trials: 4, planned: 0 });
  expect(begun(imported)).toBe("imported 2026-11-21 19:22");
  expect(trialsOf(imported)).toBe("4");
  expect(trialsOf(run({ trials: 3 }))).toBe("3 of 14");
  expect(trialsOf(run())).toBe("14");
});

test("missed objectives come first", () => {
  expect(objectivesOf({ met: 2, missed: 1 })).toBe("1 missed, 2 met");
  expect(objectivesOf(null)).toBe("");
});
