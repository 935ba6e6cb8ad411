import { expect, test } from "vitest";
import { csvText, fileName } from "./download.ts";
import type { Spec } from "./spec.ts";
import { styleOf } from "./style.ts";

const spec = (more: Partial<Spec>): Spec => ({
  id: "x", label: "", height: 1, zoomKey: "", tip: () => [],
  x: { kind: "linear", label: "rtt in us", quantity: "rtt p50 (s)", write: String },
  y: { kind: "rows", label: "", quantity: "arm", write: String, rows: ["near", "=far, \"far\""] },
  series: [], ...more,
});

test("a table has base units, names of rows, and bounds if there are any", () => {
  const text = csvText(spec({
    series: [
      {
        name: "near", style: styleOf(0), kind: "interval", along: "x",
        points: [{ x: 8.5e-6, y: 0, low: 8e-6, high: 9e-6 }],
      },
      { name: "=far", style: styleOf(1), kind: "interval", along: "x", points: [{ x: 1e-5, y: 1 }] },
    ],
  }));
  expect(text.split("\r\n")).toEqual([
    "series,rtt p50 (s),arm,low of rtt p50 (s),high of rtt p50 (s)",
    "near,0.0000085,near,0.000008,0.000009",
    `'=far,0.00001,"'=far, ""far""",,`,
    "",
  ]);
});

test("names of files have letters, digits and dashes only", () => {
  expect(fileName("Über/../run 1", "load-2", "svg")).toBe("ber-run-1-load-2.svg");
  expect(fileName("", "arms", "csv")).toBe("arms.csv");
});
