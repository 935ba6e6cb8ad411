import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

// Each page has a build of its own (`--mode report`, `--mode browse`), so that it becomes one file without imports.
export default defineConfig(({ mode }) => ({
  plugins: [singleFile()],
  build: {
    outDir: "../internal/show/page/dist",
    emptyOutDir: false,
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: mode === "browse" ? "browse.html" : "report.html",
      output: { inlineDynamicImports: true },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node", css: true },
}));

// singleFile puts script and style into the page, and their hashes into its security policy: the page runs no other
// script and makes no requests. For a page that talks to its own server, the program replaces "connect-src 'none'".
function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          script += file.code;
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          style += String(file.source);
          delete bundle[name];
        }
      }
      // Escape text in the script that would end the script element.
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      style = style.trim();
      const policy = [
        "default-src 'none'",
        `script-src '${hash(script)}'`,
        `style-src '${hash(style)}'`,
        "img-src data:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      for (const file of Object.values(bundle)) {
        if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
        file.source = String(file.source)
          .replaceAll(/\s*<script type="module"[^>]*src=[^>]*><\/script>/g, "")
          .replaceAll(/\s*<link rel="stylesheet"[^>]*>/g, "")
          .replace("%POLICY%", () => policy)
          .replace("</head>", () => `<style>${style}</style>\n</head>`)
          .replace("</body>", () => `<script type="module">${script}</script>\n</body>`);
      }
    },
  };
}

function hash(text: string): string {
  return "sha256-" + createHash("sha256").update(text).digest("base64");
}
