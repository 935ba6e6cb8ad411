// Places the boxes of a path from left to right, in as many lines as needed.

export interface Box {
  kind: string;
  // The parameters, shown below the kind; empty for none.
  with: string;
  // Compared with the baseline's path: same, added, or gone (only in the baseline's). end is a host.
  state: "end" | "same" | "added" | "gone";
}

export interface Placed extends Box {
  x: number;
  y: number;
  width: number;
}

export const boxHeight = 34;
const gap = 22;
const lineGap = 12;
const kindWidth = 7.2;
const withWidth = 5.7;

// layout places the boxes within the width, and gives the height of the picture; all in pixels.
export function layout(boxes: Box[], width: number): { placed: Placed[]; height: number } {
  let x = 1;
  let y = 1;
  const placed = boxes.map((box): Placed => {
    const wide = Math.max(box.kind.length * kindWidth, box.with.length * withWidth) + 18;
    if (x > 1 && x + wide > width - 1) {
      x = 1 + gap; // room for the line from above
      y += boxHeight + lineGap;
    }
    const at = { ...box, x, y, width: wide };
    x += wide + gap;
    return at;
  });
  return { placed, height: y + boxHeight + 1 };
}

// wires draws the connections between neighbouring boxes, also from the end of a line to the next line.
export function wires(placed: Placed[]): string {
  const f = (n: number) => n.toFixed(1);
  const middle = boxHeight / 2;
  let d = "";
  placed.forEach((to, i) => {
    const from = placed[i - 1];
    if (!from) return;
    const end = from.x + from.width;
    if (from.y === to.y) {
      d += `M${f(end)} ${f(from.y + middle)}H${f(to.x)}`;
    } else {
      d += `M${f(from.x + from.width / 2)} ${f(from.y + boxHeight)}v${f(lineGap / 2)}H${f(to.x - gap / 2)}`
        + `V${f(to.y + middle)}H${f(to.x)}`;
    }
  });
  return d;
}
