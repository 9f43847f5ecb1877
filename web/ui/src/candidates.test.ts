import { expect, test } from "vitest";
import { boundAt, decades, GAINS, kindOf, layOut, progress, roofLine, roofPoint, roofPoints, sorted } from "./candidates";
import type { CandidateSummary } from "./client";

function candidate(step: number, more: Partial<CandidateSummary> = {}): CandidateSummary {
  return {
    id: `cand-${step}`, job_id: "job-1", step, parent_id: null, origin: "draft", backend: "cpp", summary: "", created_at: "",
    verdict: "accepted", failed_gate: null, median_us: null, ci95_us: null, speedup: null, gain: null, baselines_us: null, self_attested: null,
    input_sets: 1, roofline_fraction: null, bottleneck: null, tuned: null, device_s: 0, ...more,
  };
}

const faster = (step: number, best: number): CandidateSummary =>
  candidate(step, { median_us: 100 / best, speedup: { best_baseline: best, eager: best * 2, compile: null, compile_max: null, ci95: null } });

test("what has no figure comes last whichever way a column is sorted", () => {
  const rows = [faster(0, 2), candidate(1), faster(2, 3)];
  expect(sorted(rows, { key: "median_us", down: false }).map((row) => row.step)).toEqual([2, 0, 1]);
  expect(sorted(rows, { key: "best_baseline", down: false }).map((row) => row.step)).toEqual([0, 2, 1]);
  expect(sorted(rows, { key: "best_baseline", down: true }).map((row) => row.step)).toEqual([2, 0, 1]);
});

test("a parent stands above the middle of its children and no two share a place", () => {
  const rows = [candidate(0), candidate(1, { parent_id: "cand-0" }), candidate(2, { parent_id: "cand-0" }), candidate(3)];
  const places = new Map(layOut(rows).map(({ candidate: one, x, y }) => [one.step, [x, y]]));
  expect(places.get(0)).toEqual([0.5, 0]);
  expect([places.get(1), places.get(2), places.get(3)]).toEqual([[0, 1], [1, 1], [2, 0]]);
});

test("a chain of two thousand refinements and a parent that is not there are laid out", () => {
  const rows = Array.from({ length: 2000 }, (_, step) => candidate(step, { parent_id: step ? `cand-${step - 1}` : "cand-lost" }));
  const places = layOut(rows);
  expect(places).toHaveLength(2000);
  expect(Math.max(...places.map((one) => one.y))).toBe(1999);
});

test("the best so far only rises while the search goes on, and lasts to the last step", () => {
  const { points, best } = progress([faster(0, 1.5), faster(1, 1.2), faster(2, 2), candidate(3, { verdict: "rejected" })], "best_baseline");
  expect(points.map((point) => point.value)).toEqual([1.5, 1.2, 2]);
  expect(best.map((point) => [point.step, point.value])).toEqual([[1, 1.5], [3, 2], [4, 2]]);
});

test("once kernels are measured again, the best is one that held", () => {
  const again = (step: number, parent: number, more: Partial<CandidateSummary>): CandidateSummary =>
    ({ ...faster(step, 1.4), origin: "confirmation", parent_id: `cand-${parent}`, ...more });
  const searched = [faster(0, 1.5), faster(1, 1.8)];
  const told = (rows: CandidateSummary[]) => progress(rows, "best_baseline").best.map((point) => [point.step, point.value]);
  expect(told([...searched, again(2, 1, {})])).toEqual([[1, 1.5], [2, 1.8], [3, 1.4]]);
  const refused = again(2, 1, { verdict: "rejected", speedup: null });
  expect(told([...searched, refused])).toEqual([[1, 1.5], [2, 1.8], [3, 1.5]]);
});

test("where the best so far falls it says why", () => {
  const measured = (step: number, best: number, bounds: [number, number], more: Partial<CandidateSummary> = {}): CandidateSummary =>
    candidate(step, { speedup: { best_baseline: best, eager: null, compile: null, compile_max: null, ci95: bounds }, ...more });
  const first = measured(0, 1.8, [1.6, 2]);
  const falls = (...rows: CandidateSummary[]) => progress([first, ...rows], "best_baseline").best.flatMap((point) => point.fell ?? []);
  const again = { origin: "confirmation", parent_id: "cand-0" } as const;
  expect(falls(measured(1, 1.7, [1.5, 1.9], again))).toEqual([expect.stringMatching(/^1\.80× → 1\.70×: .*intervals overlap: the difference is within noise/)]);
  expect(falls(measured(1, 1.2, [1.1, 1.3], again))).toEqual([expect.stringMatching(/intervals do not overlap/)]);
  expect(falls(candidate(2, { ...again, verdict: "rejected" }), measured(1, 1.5, [1.4, 1.6]))).toEqual([expect.stringMatching(/1\.50×: .*did not hold when it was judged again \(rejected\)/)]);
  expect(falls(measured(1, 1.9, [1.7, 2.1], again))).toEqual([]);
});

test("a candidate of a job that has ended is judged by nobody any more", () => {
  expect(kindOf(candidate(0, { verdict: null }), null, true)).toBe("stopped");
  expect(kindOf(candidate(0), null, true)).toBe("correct");
});

test("only the job's best is best, and a candidate without verdict is being judged", () => {
  expect(kindOf(candidate(0), "cand-0")).toBe("best");
  expect(kindOf(candidate(0), "cand-1")).toBe("correct");
  expect(kindOf(candidate(0, { verdict: null }), null)).toBe("pending");
});

test("only a kernel that is surely faster than the fastest baseline is shown as a gain", () => {
  const told = (gain: CandidateSummary["gain"]) => kindOf(candidate(0, { gain }), null);
  expect([told("surely"), told("within_noise"), told("none"), told(null)]).toEqual(["accepted", "correct", "correct", "correct"]);
  expect(Object.entries(GAINS).flatMap(([gain, { ink }]) => (ink === "accepted" ? [gain] : []))).toEqual(["surely"]);
});

test("a kernel at the memory floor touches the roof", () => {
  const point = roofPoint("k", "best", 20, 1e6, 1e6);
  expect(point.gflops).toBeCloseTo(50);
  expect(roofLine(500, 50, 0.1, 100)).toEqual([[0.1, 5], [10, 500], [100, 500]]);
});

test("baselines under the roof are those beside the best kernel", () => {
  const work = { flops: 1e6, bytes: 1e6, floorUs: 10 };
  const rows = [candidate(0, { median_us: 20, baselines_us: { eager: 40 } }), candidate(1, { median_us: 30, baselines_us: { eager: 99 } })];
  expect(roofPoints(rows, "cand-0", work).map((one) => [one.name, one.medianUs])).toEqual([["round 1", 20], ["round 2", 30], ["eager", 40]]);
});

test("of several input sets the point under the roof is the first one's", () => {
  const work = { flops: 1e6, bytes: 1e6, floorUs: 10 };
  const rows = [candidate(0, { median_us: 55, ci95_us: [50, 60], input_sets: 3, roofline_fraction: 0.5, baselines_us: { eager: 99 } })];
  expect(roofPoints(rows, "cand-0", work)).toEqual([expect.objectContaining({ medianUs: 20, bounds: null })]);
});

test("a roof names what binds, on both sides of its ridge", () => {
  const roof = { peakGflops: 500, bandwidthGbS: 100, cacheGbS: 400 };
  expect(boundAt(roof, 1)).toEqual({ bound: "memory", permits: 100 });
  expect(boundAt(roof, 50)).toEqual({ bound: "compute", permits: 500 });
});

test("a logarithmic axis ends at powers of ten, also around one value, none, and what has no logarithm", () => {
  expect(decades([0.042, 37])).toEqual([0.01, 100]);
  expect(decades([10])).toEqual([10, 100]);
  expect(decades([])).toEqual([1, 10]);
  expect(decades([0, -1, Infinity, 3])).toEqual([1, 10]);
});

test("an interval of latencies becomes one of rates, the other way round", () => {
  expect(roofPoint("a", "best", 10, 1e6, 1e6, [8, 20]).bounds).toEqual([50, 125]);
  expect(roofPoint("a", "best", 10, 1e6, 1e6).bounds).toBeNull();
});
