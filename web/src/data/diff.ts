// The differences between two lists, by their longest common subsequence.

export interface Step<T> {
  value: T;
  // same: in both lists; added: only in the second; gone: only in the first.
  kind: "same" | "added" | "gone";
}

// diff lists the entries of both lists in order, and says in which list each is.
export function diff<T>(before: T[], after: T[], same: (a: T, b: T) => boolean = (a, b) => a === b): Step<T>[] {
  const n = before.length;
  const m = after.length;
  // longest[i][j] is the length of the subsequence for before[i..] and after[j..].
  const longest: number[][] = Array.from({ length: n + 1 }, () => new Array<number>(m + 1).fill(0));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      longest[i]![j] = same(before[i]!, after[j]!)
        ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
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
