// Where the boxes of a path stand: from left to right, in as many lines as it takes.

export interface Box {
  kind: string;
  // The parameters, below the kind; empty for none.
  with: string;
  // How it stands to the baseline's path: end is a host, gone is in the baseline's only.
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

// layout places the boxes within the width, and gives the height of it all.
export function layout(boxes: Box[], width: number): { placed: Placed[]; height: number } {
  let x = 1;
  let y = 1;
  const placed = boxes.map((box): Placed => {
    const wide = Math.max(box.kind.length * kindWidth, box.with.length * withWidth) + 18;
    if (x > 1 && x + wide > width - 1) {
      x = 1 + gap; // room for the line that comes from above
      y += boxHeight + lineGap;
    }
    const at = { ...box, x, y, width: wide };
    x += wide + gap;
    return at;
  });
  return { placed, height: y + boxHeight + 1 };
}

// wires are the lines between boxes that follow each other; one that goes on in the next line turns twice.
export function wires(placed: Placed[]): string {
  const f = (n: number) => n.toFixed(1);
  const middle = boxHeight / 2;
  let d = "";
  placed.forEach((to, i) => {
    const from = placed[i - 1];
    if (!from) return;
    const end = from.x + from.width;
    if (from.y === to.y) d += `M${f(end)} ${f(from.y + middle)}H${f(to.x)}`;
    else d += `M${f(from.x + from.width / 2)} ${f(from.y + boxHeight)}v${f(lineGap / 2)}H${f(to.x - gap / 2)}V${f(to.y + middle)}H${f(to.x)}`;
  });
  return d;
}
