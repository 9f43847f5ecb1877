/** Which instructions belong to which line of a kernel's source. */
import { cppWithin } from "./parts/language";

export interface Listing {
  /** Without the marks of lines. */
  text: string;
  /** Line of the compiled source by line of the text (both from 1); nothing where it is not known. */
  lineAt: ReadonlyMap<number, number>;
  /** The other way round. */
  shownAt: ReadonlyMap<number, readonly number[]>;
}

const MARK = /^; line (\d+)$/;
/** As objdump, nvdisasm and PTX write one. */
const INSTRUCTION = /^\s+[0-9a-f]+:\t|^\s+\/\*[0-9a-f]{4,}\*\/|^\t(?:@!?%\w+\s+)?[a-z]/;

/** A listing as it is stored, taken apart. */
export function parseListing(stored: string): Listing {
  const kept: string[] = [];
  const lineAt = new Map<number, number>();
  const shownAt = new Map<number, number[]>();
  let line: number | null = null;
  for (const text of stored.replace(/\n$/, "").split("\n")) {
    const mark = MARK.exec(text);
    if (mark) {
      line = Number(mark[1]);
      continue;
    }
    kept.push(text);
    if (!INSTRUCTION.test(text)) {
      line = null;
      continue;
    }
    if (line === null) continue;
    lineAt.set(kept.length, line);
    const there = shownAt.get(line);
    if (there) there.push(kept.length);
    else shownAt.set(line, [kept.length]);
  }
  return { text: kept.join("\n"), lineAt, shownAt };
}

const LITERAL = /[rR]?("""|''')[\s\S]*?\1/g;

/**
 * How many lines of the module stand before the first of its compiled source.
 *
 * Null where that cannot be told: there is no such source, several of them, or one whose escapes move its lines.
 */
export function linesBefore(module: string): number | null {
  const found = [...module.matchAll(LITERAL)].filter((one) => cppWithin(one[0]) !== null);
  const only = found[0];
  if (found.length !== 1 || !only) return null;
  const raw = /^[rR]/.test(only[0]);
  if (!raw && /\\(?:n|\r?\n)/.test(only[0])) return null;
  return module.slice(0, only.index).split("\n").length - 1;
}

/** Classes of heat, 1 to 5, by share of the samples. */
export function heatOf(share: number): number {
  return share >= 0.3 ? 5 : share >= 0.15 ? 4 : share >= 0.07 ? 3 : share >= 0.03 ? 2 : 1;
}
