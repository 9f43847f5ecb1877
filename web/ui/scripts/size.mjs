// What a browser loads before the first view: fails when its JavaScript is over 350 kB gzipped.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 350_000;
const root = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", root), "utf8"));
const size = (file) => gzipSync(readFileSync(new URL(file, root)), { level: 9 }).length;

function closure(key, seen = new Set()) {
  if (!seen.has(key)) {
    seen.add(key);
    for (const next of manifest[key].imports ?? []) closure(next, seen);
  }
  return seen;
}

/** A page that others of its parts import from has no key of its own: it is found by its name. */
function keyOf(page) {
  const name = page.replace(/^.*\/|\.tsx$/g, "");
  const key = page in manifest ? page : Object.keys(manifest).find((one) => one.startsWith("_") && manifest[one].name === name);
  if (key === undefined) throw new Error(`${page} is not in the build`);
  return key;
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const pages = ["src/pages/Jobs.tsx", "src/pages/Job.tsx", "src/pages/Submit.tsx"];
let failed = false;
for (const page of pages) {
  const files = new Set();
  for (const key of [entry, keyOf(page)]) for (const found of closure(key)) files.add(manifest[found].file);
  const total = [...files].reduce((sum, file) => sum + size(file), 0);
  console.log(`${page}: ${(total / 1000).toFixed(1)} kB of JavaScript, gzipped, in ${files.size} files`);
  failed ||= total > LIMIT;
}
if (failed) {
  console.error(`more than ${LIMIT / 1000} kB before the first view`);
  process.exit(1);
}
