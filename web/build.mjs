// Builds each page as one file in internal/show/page/dist. The program embeds that folder.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));

for (const page of ["report", "browse"]) {
  if (existsSync(`${here}${page}.html`)) {
    await build({ root: here, configFile: `${here}vite.config.ts`, mode: page, logLevel: "warn" });
  }
}
