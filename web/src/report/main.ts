import "../theme.css";
import "./report.css";
import type { Data } from "../data/model.ts";
import { el } from "../ui/dom.ts";
import { follow } from "./live.ts";
import { Page } from "./page.ts";

// A report from a file holds its data; a live page fetches them.
const page = new Page(document.getElementById("page")!);
const embedded = document.getElementById("data")?.textContent ?? "";

// A read-only copy of the page's state, for tests.
Object.defineProperty(globalThis, "nearfar", { value: Object.freeze({ state: () => structuredClone(page.state()) }) });

function failed(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  document.body.prepend(el("p", { class: "broken", role: "alert" }, `This page cannot show its data: ${text}`));
}

if (embedded.trim() === "") {
  follow((data) => page.show(data), (status) => page.controls.tell(status)).catch(failed);
} else {
  (async () => page.show(JSON.parse(embedded) as Data))().catch(failed);
}
