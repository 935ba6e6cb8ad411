// Which entries of one list are in another, in the same order: the longest common subsequence.

export interface Step<T> {
  value: T;
  // same: in both; added: in the second only; gone: in the first only.
  kind: "same" | "added" | "gone";
}

// diff walks from one list to the other.
export function diff<T>(before: T[], after: T[], same: (a: T, b: T) => boolean = (a, b) => a === b): Step<T>[] {
  const n = before.length;
  const m = after.length;
  // longest[i][j] is the length for before from i and after from j on.
  const longest: number[][] = Array.from({ length: n + 1 }, () => new Array<number>(m + 1).fill(0));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      longest[i]![j] = same(before[i]!, after[j]!) ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
    }
  }
  const steps: Step<T>[] = [];
  let i = 0;
  let j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && same(before[i]!, after[j]!)) {
      steps.push({ value: after[j]!, kind: "same" });
      i++;
      j++;
    } else if (i < n && (j === m || longest[i + 1]![j]! >= longest[i]![j + 1]!)) {
      steps.push({ value: before[i++]!, kind: "gone" });
    } else {
      steps.push({ value: after[j++]!, kind: "added" });
    }
  }
  return steps;
}
