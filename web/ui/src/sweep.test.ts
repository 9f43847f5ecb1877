import { expect, test } from "vitest";
import type { EvaluationReport, Latency } from "./client";
import { objectiveText, pointText, sweepOf } from "./sweep";

const latency = (median_us: number): Latency => ({ median_us, mean_us: median_us, p10_us: median_us, p90_us: median_us, ci95_us: [median_us - 1, median_us + 1], samples: 9 });
const shape = (bytes: number | null, own: number, eager: number, compile: number | null = null) => ({
  shapes: [[bytes ?? 0, 4]],
  bytes,
  name: bytes === 512 ? "" : `rows=${bytes}`,
  latency: latency(own),
  baselines: { eager: latency(eager), compile: compile === null ? null : latency(compile), compile_max: null },
  speedup: { best_baseline: Math.min(eager, compile ?? eager) / own, ci95: [1.5, 2.5] as [number, number] },
});
const report = (...shapes: object[]) => ({ shapes }) as unknown as EvaluationReport;

test("sets are in the order of their sizes, beside the fastest baseline of each", () => {
  const found = sweepOf(report(shape(4096, 40, 80, 60), shape(512, 10, 20, 30), shape(null, 1, 2)));
  expect(found.latency.map(({ name, bytes, value, low, high }) => [name, bytes, value, low, high])).toEqual([
    ["512×4", 512, 10, 9, 11],
    ["rows=4096", 4096, 40, 39, 41],
  ]);
  expect(found.baseline.map((one) => one.value)).toEqual([20, 60]);
  expect(found.speedup.map((one) => [one.value, one.low, one.high])).toEqual([
    [2, 1.5, 2.5],
    [1.5, 1.5, 2.5],
  ]);
});

test("a point says its set, its size and its interval", () => {
  const [point] = sweepOf(report(shape(4096, 40, 80))).speedup;
  expect(pointText(point!, "speedup")).toContain("rows=4096");
  expect(pointText(point!, "speedup")).toContain("(95 % interval 1.50× – 2.50×)");
});

test("what the figures are of is said where there is more than one input set", () => {
  expect(objectiveText(null)).toBe("");
  expect(objectiveText({ kind: "geometric_mean", sets: 1 })).toBe("");
  expect(objectiveText({ kind: "geometric_mean", sets: 40 })).toBe("geometric mean over 40 input sets");
  expect(objectiveText({ kind: "worst", sets: 3, input_set: "b" })).toBe("worst of 3 input sets, b");
  expect(objectiveText({ kind: "set", sets: 1, input_set: "decode" })).toBe("input set decode");
});
