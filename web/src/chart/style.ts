// Each arm has its own combination of colour, dash and marker, so that readers can tell arms apart by any of them.
// palette.css has the colours for light and dark.

export type Marker = "circle" | "square" | "triangle" | "diamond" | "down" | "cross" | "plus";

export interface Style {
  // The class that sets the colour: c0 is the baseline's, c1 to c24 the others'.
  colour: string;
  dash: string;
  marker: Marker;
  // Whether the marker is filled.
  solid: boolean;
}

// The number of colours beside the baseline's.
export const colours = 24;

const markers: Marker[] = ["circle", "square", "triangle", "diamond", "down", "cross", "plus"];
const dashes = ["", "7 3", "2 3", "9 3 2 3", "1 4"];

// styleOf gives the style of the n-th arm that is not the baseline (from 0); -1 is for the baseline.
export function styleOf(n: number): Style {
  if (n < 0) return { colour: "c0", dash: "", marker: "circle", solid: true };
  const round = Math.floor(n / 7);
  return {
    colour: `c${(n % colours) + 1}`,
    dash: dashes[round % dashes.length]!,
    marker: markers[(n + round) % markers.length]!,
    solid: round % 2 === 0,
  };
}

// markerClass gives the class names of a marker's path: filled or open. A cross and a plus have no inside to fill.
export function markerClass(style: Style): string {
  return !style.solid || style.marker === "cross" || style.marker === "plus" ? "marker open" : "marker";
}

// markerPath gives the outline of a marker around a place; r is half its width.
export function markerPath(marker: Marker, x: number, y: number, r: number): string {
  const f = (n: number) => n.toFixed(1);
  switch (marker) {
    case "circle":
      return `M${f(x - r)} ${f(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    case "square":
      return `M${f(x - r * 0.9)} ${f(y - r * 0.9)}h${f(1.8 * r)}v${f(1.8 * r)}h${f(-1.8 * r)}z`;
    case "triangle":
      return `M${f(x)} ${f(y - r * 1.15)}l${f(r * 1.1)} ${f(r * 1.95)}h${f(-2.2 * r)}z`;
    case "down":
      return `M${f(x)} ${f(y + r * 1.15)}l${f(r * 1.1)} ${f(-r * 1.95)}h${f(-2.2 * r)}z`;
    case "diamond":
      return `M${f(x)} ${f(y - r * 1.25)}l${f(r * 1.2)} ${f(r * 1.25)}l${f(-r * 1.2)} ${f(r * 1.25)}`
        + `l${f(-r * 1.2)} ${f(-r * 1.25)}z`;
    case "cross":
      return `M${f(x - r)} ${f(y - r)}l${f(2 * r)} ${f(2 * r)}M${f(x + r)} ${f(y - r)}l${f(-2 * r)} ${f(2 * r)}`;
    case "plus":
      return `M${f(x - r * 1.2)} ${f(y)}h${f(2.4 * r)}M${f(x)} ${f(y - r * 1.2)}v${f(2.4 * r)}`;
  }
}
