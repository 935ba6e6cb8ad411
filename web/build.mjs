// Builds each page into one file of its own, below internal/page/dist, where the program embeds it.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));

for (const page of ["report", "browse"]) {
  if (existsSync(`${here}${page}.html`)) {
    await build({ root: here, configFile: `${here}vite.config.ts`, mode: page, logLevel: "warn" });
  }
}
