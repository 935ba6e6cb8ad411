// Command lines of several arms as one template. Words that differ between arms become columns of a table.

export interface ArmLines {
  arm: string;
  lines: string[];
}

// Word is a word that is the same in all arms, or the index of a column in Template.columns.
export type Word = { text: string } | { column: number };

// Template is the part that the command lines of some arms share.
export interface Template {
  arms: string[];
  // The words of each line.
  lines: Word[][];
  // The values of the words that differ, one for each arm. Words with the same values share a column.
  columns: string[][];
}

// templates makes one template for all arms whose lines have the same numbers of words.
export function templates(all: ArmLines[]): Template[] {
  const lengths = (a: ArmLines) => JSON.stringify(a.lines.map((l) => words(l).length));
  const groups = new Map<string, ArmLines[]>();
  for (const a of all) groups.set(lengths(a), [...(groups.get(lengths(a)) ?? []), a]);
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

// words splits a line at spaces. Quotes are not parsed, because the page joins the words with spaces again.
function words(line: string): string[] {
  return line.split(" ");
}
