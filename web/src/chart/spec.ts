import type { ScaleKind } from "./scale.ts";
import type { Style } from "./style.ts";

// What a chart shows. Values are in base units; `write` of an axis turns them into text.

export interface Point {
  x: number;
  y: number;
  // An interval, along the axis that the series names.
  low?: number;
  high?: number;
  // Where a bar begins.
  from?: number;
  // What the point stands for, for whoever gets it back.
  ref?: unknown;
}

export interface Series {
  name: string;
  style: Style;
  // line: a line, with a band where `band` is set; dots: markers; interval: a marker with its interval; bar: a bar along x.
  kind: "line" | "dots" | "interval" | "bar";
  points: Point[];
  // The axis that low and high are on: y unless said.
  along?: "x" | "y";
  band?: boolean;
  // Markers on a line: as a rule only where there are few points.
  markers?: boolean;
  // Whether a line shows the interval of each point.
  whiskers?: boolean;
  // Further classes, for looks.
  class?: string;
}

export interface Axis {
  kind: ScaleKind;
  label: string;
  // What the values are, with their base unit, as a table names it: "rtt p50 (s)".
  quantity?: string;
  write: (value: number) => string;
  // What counts as one on the axis, in base units: for where there is nothing but zeros.
  one?: number;
  // Whether the axis has to hold zero.
  zero?: boolean;
  // The domain, where it is not taken from the values.
  domain?: [number, number];
  // The names of the rows, from the top (kind "rows").
  rows?: string[];
}

export interface Spec {
  // Names the chart in the page: figure, table and test.
  id: string;
  // Says in a sentence what is drawn.
  label: string;
  x: Axis;
  y: Axis;
  series: Series[];
  // A line across the chart, such as that of no difference.
  rule?: { axis: "x" | "y"; at: number };
  height: number;
  // Whether lines have their names where they end.
  labels?: boolean;
  // Whether what is under the pointer is all series at one place of the x axis.
  shared?: boolean;
  // The lines of text for a point.
  tip: (series: Series, point: Point) => [string, string][];
  // What happens when a point is chosen; not for every chart.
  pick?: (series: Series, point: Point) => void;
  // While this is the same, a zoom is kept when the chart is drawn again.
  zoomKey: string;
}
