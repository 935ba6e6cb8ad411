import "../theme.css";
import "../report/report.css";
import "./browse.css";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { themeButton } from "../ui/theme.ts";
import { HistoryView, query, settle, type Asked } from "./history.ts";
import { RunList } from "./list.ts";
import type { History, Listing, Summary } from "../data/model.ts";
import { experiments } from "./search.ts";

// The choices are in the fragment of the address (after #), so that they survive a reload.
const remembered = new URLSearchParams(location.hash.slice(1));
const chosen = (key: string) => remembered.get(key) ?? "";
let asked: Asked = { experiment: chosen("experiment"), figure: chosen("figure"), arm: chosen("arm") };

const folder = el("span", { class: "folder" });
const notice = el("p", { class: "notice", role: "alert", hidden: true });
const cut = el("p", { class: "notice", hidden: true });
const list = new RunList((experiment) => {
  asked = { ...asked, experiment };
  void update().then(() => history.reach());
}, (ids) => read<Record<string, Summary>>(`summaries.json?${new URLSearchParams(ids.map((id) => ["id", id]))}`));
const history = new HistoryView((next) => {
  asked = next;
  void update();
});
document.getElementById("page")!.append(
  el("header", { class: "top" }, el("h1", {}, "Runs of ", folder), themeButton()),
  notice, cut, list.element, history.element,
  el("footer", {}, el("p", {}, "Press / to search. Choose two runs to compare them. In the chart, the arrow keys go "
    + "from run to run, and Enter opens a run.")));

async function read<T>(address: string): Promise<T> {
  const response = await fetch(address, { cache: "no-store" });
  if (!response.ok) throw new Error((await response.text()).trim().slice(0, 500));
  return (await response.json()) as T;
}

// update fetches the data. Calls during an update cause one more update after it.
let running: Promise<void> | undefined;
let again = false;
function update(): Promise<void> {
  if (running) {
    again = true;
    return running;
  }
  running = (async () => {
    do {
      again = false;
      try {
        await fetchAndShow();
        say("");
      } catch (err) {
        say(`The runs could not be fetched: ${oneLine(err instanceof Error ? err.message : String(err))}`);
      }
    } while (again);
    running = undefined;
  })();
  return running;
}

async function fetchAndShow(): Promise<void> {
  const listing = await read<Listing>("runs.json");
  folder.textContent = oneLine(listing.folder);
  cut.textContent = listing.cut ? `This list is not complete: ${oneLine(listing.cut)}.` : "";
  cut.hidden = !listing.cut;
  list.show(listing.runs);
  const names = experiments(listing.runs);
  if (names.length === 0) return;
  const experiment = names.includes(asked.experiment) ? asked.experiment : names[0]!;
  let found = await read<History>(query({ experiment, figure: "", arm: "" }, []));
  const settled = settle({ ...asked, experiment }, found.choices);
  if (settled.figure) found = await read<History>(query(settled, found.choices));
  asked = settled;
  window.history.replaceState(null, "", `#${new URLSearchParams({ ...asked })}`);
  history.show(names, asked, found);
}

function say(text: string): void {
  notice.textContent = text;
  notice.hidden = text === "";
}

document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !(e.target instanceof HTMLInputElement) && !e.ctrlKey && !e.metaKey && !e.altKey) {
    list.search.focus();
    e.preventDefault();
  }
});

const events = new EventSource("events");
// "open" comes again after the connection was lost, and runs may have changed meanwhile.
events.addEventListener("open", () => void update());
events.addEventListener("runs", () => void update());
events.addEventListener("error", () => say("nearfar no longer answers. The page keeps the last state."));
void update();

// The drawn points, for tests.
Object.assign(window, { nearfar: { drawn: () => history.plot.drawn() } });
