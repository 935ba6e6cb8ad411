import type { ScaleKind } from "./scale.ts";
import type { Style } from "./style.ts";

// The content of a chart. Values are in base units; `write` of an axis turns them into text.

export interface Point {
  x: number;
  y: number;
  // The interval, along the axis `along` of the series.
  low?: number;
  high?: number;
  // Where a bar begins.
  from?: number;
  // The object that the point shows, for `tip` and `pick`.
  ref?: unknown;
}

export interface Series {
  name: string;
  style: Style;
  // line: a line, with a band if `band` is set; dots: markers; interval: markers with intervals; bar: bars along x.
  kind: "line" | "dots" | "interval" | "bar";
  points: Point[];
  // The axis of low and high; y by default.
  along?: "x" | "y";
  band?: boolean;
  // Whether a line has markers.
  markers?: boolean;
  // Whether a line shows the interval of each point.
  whiskers?: boolean;
  // Further class names.
  class?: string;
}

export interface Axis {
  kind: ScaleKind;
  label: string;
  // The name of the values with their base unit, for the CSV file: "rtt p50 (s)".
  quantity?: string;
  write: (value: number) => string;
  // The size of the axis if all values are zero, in base units.
  one?: number;
  // Whether the axis must cover zero.
  zero?: boolean;
  // The domain, if it does not depend on the values.
  domain?: [number, number];
  // The names of the rows, from the top (kind "rows").
  rows?: string[];
}

export interface Spec {
  // The id of the chart on the page and in tests.
  id: string;
  // A description of the chart in one sentence.
  label: string;
  x: Axis;
  y: Axis;
  series: Series[];
  // A line across the chart, such as the one at zero.
  rule?: { axis: "x" | "y"; at: number };
  height: number;
  // Whether lines have their names at their ends.
  labels?: boolean;
  // Whether the tip shows the points of all series at the same place of the x axis.
  shared?: boolean;
  // The lines of the tip for a point.
  tip: (series: Series, point: Point) => [string, string][];
  // Called when the reader chooses a point.
  pick?: (series: Series, point: Point) => void;
  // The zoom is kept when the chart is drawn again, as long as this key stays the same.
  zoomKey: string;
}
