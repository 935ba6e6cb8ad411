import type { Run } from "../data/model.ts";

// matches says whether each word of the search is in the run's name, question, arms, workloads, state, path or error.
export function matches(run: Run, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter((w) => w !== "");
  if (words.length === 0) return true;
  const error = run.error ? [run.error, "broken"] : [];
  const text = [run.name, run.question, ...run.arms, ...run.workloads, run.state, run.path, ...error]
    .join("\n").toLowerCase();
  return words.every((w) => text.includes(w));
}

// experiments lists the names of the experiments of readable runs. It keeps the order of the runs: the newest first.
export function experiments(runs: Run[]): string[] {
  return [...new Set(runs.filter((r) => !r.error).map((r) => r.name))];
}

const silence = 15 * 60_000;

// stateOf writes the state of a run. The directory of a killed run still says "running", but does not change any more.
export function stateOf(run: Run, now: number): string {
  if (run.error) return "cannot be read";
  if (run.state !== "running" || !run.changed) return run.state;
  const quiet = now - Date.parse(run.changed);
  return quiet > silence ? `running, but silent for ${span(quiet)}` : "running";
}

// span writes a time in the largest unit that fits: "20 min", "3 h", "12 days".
export function span(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  if (minutes < 120) return `${Math.floor(minutes)} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / 60 / 24)} days`;
}

// moment writes a time in UTC, to the minute, as run directories are named.
export function moment(time: string | undefined): string {
  const at = time === undefined ? NaN : Date.parse(time);
  return Number.isNaN(at) ? "-" : new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

// begun writes when a run began. For results that were recorded elsewhere, only the time of the import is known.
export function begun(run: Run): string {
  return run.imported ? `imported ${moment(run.started)}` : moment(run.started);
}

// trialsOf writes the number of trials of a run, and how many are planned if some are missing.
export function trialsOf(run: Run): string {
  const whole = run.imported || run.planned === 0 || run.planned === run.trials;
  return whole ? String(run.trials) : `${run.trials} of ${run.planned}`;
}

// objectivesOf counts the objectives of a run by verdict: "2 missed, 1 met".
export function objectivesOf(counts: Record<string, number> | null): string {
  const order = ["missed", "error", "undecided", "met"];
  const known = Object.entries(counts ?? {}).filter(([, n]) => n > 0);
  known.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return known.map(([verdict, n]) => `${n} ${verdict}`).join(", ");
}
