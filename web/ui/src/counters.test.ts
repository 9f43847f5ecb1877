import { expect, test } from "vitest";
import type { EvaluationReport } from "./client";
import { comparedCounters } from "./counters";

const report = (median: number, metrics: Record<string, number>): EvaluationReport =>
  ({ latency: { median_us: median }, roofline: null, profile: { source: "ncu", metrics, bottleneck: "memory", reason: "" } }) as unknown as EvaluationReport;

test("counters stand beside each other, with the second over the first", () => {
  const found = comparedCounters(report(20, { registers: 32, dram_pct: 50 }), report(10, { dram_pct: 75, waves: 2 }));
  expect(found).toEqual([
    { name: "median latency (µs)", values: [20, 10], ratio: 0.5 },
    { name: "registers", values: [32, null], ratio: null },
    { name: "dram_pct", values: [50, 75], ratio: 1.5 },
    { name: "waves", values: [null, 2], ratio: null },
  ]);
});

test("nothing is divided by zero", () => {
  expect(comparedCounters(report(20, { spills: 0 }), report(20, { spills: 4 })).find(({ name }) => name === "spills")?.ratio).toBeNull();
});
