import { expect, test } from "vitest";
import { boundsOf, differing, ofMedians, reasonOf, rivalOf, type Measured } from "./ratios";

const measured = (best: number, median_us: number, eager: number): Measured => ({
  median_us,
  baselines_us: { eager },
  speedup: { best_baseline: best, eager: best, compile: null, compile_max: null, ci95: [0.9, 1.3] },
});

test("a ratio that its medians give needs no reason", () => {
  expect(reasonOf(measured(1.132, 3060, 3464))).toBeNull();
});

test("a ratio of pairs says what the medians alone give", () => {
  const paired = measured(1.24, 3060, 3464);
  expect(ofMedians(paired, "eager")).toBeCloseTo(1.132, 3);
  expect(differing(paired).map(([name]) => name)).toEqual(["eager"]);
  expect(reasonOf(paired)).toContain("1.13× (eager)");
});

test("only the baseline in the pair has an interval of its own", () => {
  const speedup = { best_baseline: 1.2, eager: 1.2, compile: 1.5, compile_max: null, ci95: [1.1, 1.3] as [number, number] };
  expect(rivalOf(speedup)).toBe("eager");
  expect(boundsOf(speedup, "eager")).toEqual([1.1, 1.3]);
  expect(boundsOf(speedup, "compile")).toBeNull();
});

test("nothing measured, nothing to explain", () => {
  expect(reasonOf({ median_us: null, baselines_us: null, speedup: null })).toBeNull();
  expect(reasonOf({ median_us: 0, baselines_us: { eager: 1 }, speedup: { best_baseline: 2, eager: 2 } })).toBeNull();
  expect(boundsOf(null, "eager")).toBeNull();
});
