// The reader's choices are in the fragment of the address (after #), so that a link to the page shows the same. A
// browser does not send this part to a server.

export interface Choices {
  workload?: string;
  // The name on the page: "rtt p50".
  quantity?: string;
  hidden: string[];
  log?: boolean;
  relative: boolean;
  overTime: boolean;
  // The keys of parts that the reader opened or closed, if that is not their default.
  open: string[];
  closed: string[];
}

// none gives the choices of a reader who has chosen nothing.
export function none(): Choices {
  return { hidden: [], relative: false, overTime: false, open: [], closed: [] };
}

// written makes the fragment; empty if nothing is chosen.
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

// parsed reads a fragment; undefined if it has no choices, such as the id of a section.
export function parsed(hash: string): Choices | undefined {
  const text = hash.replace(/^#/, "");
  if (!text.includes("=")) return undefined;
  const q = new URLSearchParams(text);
  const log = q.get("log");
  return {
    workload: q.get("workload") ?? undefined, quantity: q.get("metric") ?? undefined, hidden: q.getAll("hide"),
    log: log === "yes" ? true : log === "no" ? false : undefined, relative: q.get("relative") === "yes",
      overTime: q.get("time") === "yes",
    open: q.getAll("open"), closed: q.getAll("closed"),
  };
}
