import { expect, test } from "vitest";
import { placeTip } from "./plot.ts";

// A window of 390 x 800 pixels whose corner is 20 pixels left of the chart and 300 above it, without its edges.
const within = { left: -16, right: 366, top: -296, bottom: 496 };

test.each([
  ["beside its point, at the right", [20, 100], [120, 60], [36, 76]],
  ["at the left of a point near the right edge", [340, 100], [120, 60], [204, 76]],
  ["above a point that it would cover", [180, 100], [320, 60], [-16, 24]],
  ["below a point that it would cover at the top", [180, -280], [320, 60], [-16, -264]],
  ["up from the bottom edge", [20, 480], [120, 60], [36, 436]],
  ["at the edge if it is larger than the window", [20, 100], [500, 1000], [-16, -296]],
] as [string, [number, number], [number, number], [number, number]][])("a tip is %s", (_, point, size, corner) => {
  expect(placeTip(point, size, within)).toEqual(corner);
});
