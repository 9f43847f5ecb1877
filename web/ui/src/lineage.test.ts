import { expect, test } from "vitest";
import type { CandidateSummary } from "./client";
import { lineage, tint } from "./lineage";

function candidate(step: number, parent: number | null, more: Partial<CandidateSummary> = {}): CandidateSummary {
  return { id: `c${step}`, step, parent_id: parent === null ? null : `c${parent}`, verdict: "accepted", speedup: null, ...more } as CandidateSummary;
}
const none = new Set<string>();
const names = (found: ReturnType<typeof lineage>): string[] => found.placed.map((one) => one.candidate.id).sort();

test("a long chain is one fold between its ends, and opens again", () => {
  const chain = Array.from({ length: 12 }, (_, step) => candidate(step, step === 0 ? null : step - 1));
  const folded = lineage(chain, none, none);
  expect(names(folded)).toEqual(["c0", "c1", "c11"]);
  expect(folded.folds.get("c1")?.members).toHaveLength(10);
  expect(folded.edges).toEqual([["c0", "c1"], ["c1", "c11"]]);
  expect(lineage(chain, none, new Set(["c1"])).placed).toHaveLength(12);
});

test("the best, forks and short chains are never folded", () => {
  const chain = Array.from({ length: 12 }, (_, step) => candidate(step, step === 0 ? null : step - 1));
  const found = lineage([...chain, candidate(12, 5)], new Set(["c9"]), none);
  expect(names(found)).toEqual(["c0", "c1", "c10", "c11", "c12", "c5", "c6", "c7", "c8", "c9"].sort());
});

test("every edge that is drawn ends at nodes that are drawn, also where parents are missing or their own", () => {
  const odd = [candidate(0, 0), candidate(1, 9_999), ...Array.from({ length: 2_000 }, (_, index) => candidate(index + 2, index + 1))];
  const found = lineage(odd, none, none);
  const there = new Set(names(found));
  expect(found.edges.every(([from, to]) => there.has(from) && there.has(to))).toBe(true);
  expect(there.size).toBeLessThan(6);
});

test("candidates that descend from each other in a circle are left out rather than looked through for ever", () => {
  expect(names(lineage([candidate(0, 1), candidate(1, 0), candidate(2, null)], none, none))).toEqual(["c2"]);
});

test("a gain is stronger the further it is from the baseline's speed, and rejected kernels have none", () => {
  const of = (best: number, gain: CandidateSummary["gain"]) => tint(candidate(0, null, { speedup: { best_baseline: best }, gain }));
  expect(of(4, "surely")).toEqual({ gain: "surely", strength: 1 });
  expect(of(2, "surely")).toEqual({ gain: "surely", strength: 0.5 });
  expect(of(0.5, "none")).toEqual({ gain: "none", strength: 0.5 });
  expect(of(1, "within_noise")?.gain).toBe("within_noise");
  expect(tint(candidate(0, null, { verdict: "rejected" }))).toBeNull();
});
