// What the reader has chosen, in the part of the address that never leaves the browser: a link to the page shows the same again.

export interface Choices {
  workload?: string;
  // As it is named on the page: "rtt p50".
  quantity?: string;
  hidden: string[];
  log?: boolean;
  relative: boolean;
  overTime: boolean;
  // The keys of folds that are open, or closed, where they are not as a rule.
  open: string[];
  closed: string[];
}

// none is what is chosen before anything is.
export function none(): Choices {
  return { hidden: [], relative: false, overTime: false, open: [], closed: [] };
}

// written makes the part of the address; empty where nothing is chosen.
export function written(c: Choices): string {
  const q = new URLSearchParams();
  if (c.workload) q.set("workload", c.workload);
  if (c.quantity) q.set("metric", c.quantity);
  for (const arm of c.hidden) q.append("hide", arm);
  if (c.log !== undefined) q.set("log", c.log ? "yes" : "no");
  if (c.relative) q.set("relative", "yes");
  if (c.overTime) q.set("time", "yes");
  for (const key of c.open) q.append("open", key);
  for (const key of c.closed) q.append("closed", key);
  return q.toString();
}

// parsed reads it. What is no choice, such as the name of a place on the page, gives undefined.
export function parsed(hash: string): Choices | undefined {
  const text = hash.replace(/^#/, "");
  if (!text.includes("=")) return undefined;
  const q = new URLSearchParams(text);
  const log = q.get("log");
  return {
    workload: q.get("workload") ?? undefined, quantity: q.get("metric") ?? undefined, hidden: q.getAll("hide"),
    log: log === "yes" ? true : log === "no" ? false : undefined, relative: q.get("relative") === "yes", overTime: q.get("time") === "yes",
    open: q.getAll("open"), closed: q.getAll("closed"),
  };
}
