// Command lines of several arms as one, with the words that differ between arms set apart.

export interface ArmLines {
  arm: string;
  lines: string[];
}

// A Word of a line: the same in all arms, or the number of a column of Template.columns.
export type Word = { text: string } | { column: number };

// Template is what command lines have in common.
export interface Template {
  arms: string[];
  // Each line's words, in order.
  lines: Word[][];
  // What stands at each place that differs: a value for each of the arms. Places with the same values share a column.
  columns: string[][];
}

// templates puts arms together whose lines have the same number of words.
export function templates(all: ArmLines[]): Template[] {
  const shape = (a: ArmLines) => JSON.stringify(a.lines.map((l) => words(l).length));
  const groups = new Map<string, ArmLines[]>();
  for (const a of all) groups.set(shape(a), [...(groups.get(shape(a)) ?? []), a]);
  return [...groups.values()].map(template);
}

function template(group: ArmLines[]): Template {
  const columns: string[][] = [];
  const split = group.map((a) => a.lines.map(words));
  const lines = split[0]!.map((line, l) => line.map((first, w): Word => {
    const values = split.map((s) => s[l]![w]!);
    if (values.every((v) => v === first)) return { text: first };
    const key = JSON.stringify(values);
    let column = columns.findIndex((c) => JSON.stringify(c) === key);
    if (column < 0) column = columns.push(values) - 1;
    return { column };
  }));
  return { arms: group.map((a) => a.arm), lines, columns };
}

// words splits a line at spaces. Quotes do not matter: the words are put together again as they were.
function words(line: string): string[] {
  return line.split(" ");
}
