import { expect, test } from "vitest";
import type { JobView } from "./client";
import { arrangementOf, keepViews, merged, needsAll, parametersOf, rowsOf, savedViews, sortedJobs, USUAL } from "./jobTable";
import { byFamily, compared, leaderboard, summarised } from "./leaderboard";

function job(id: number, more: Partial<JobView> = {}): JobView {
  return {
    id: `job-${id}`, problem: "softmax", status: "solved", best_speedup: null, best_ci95: null, best_gain: null, steps_done: 1, model: "playbook", backend: "cpp",
    device: "cpu", strategy: "greedy", analysis: null, tags: [], created_at: new Date(id * 1000).toISOString(), started_at: null, finished_at: null, ...more,
  } as JobView;
}
const ids = (jobs: readonly JobView[]): string[] => jobs.map((one) => one.id.slice(4));
const of = (search: string) => arrangementOf(new URLSearchParams(search));

test("an address says how the table is arranged, and what it cannot mean is left out", () => {
  expect(of("")).toEqual({ columns: USUAL, sort: { key: "submitted", down: true }, group: null });
  expect(of("columns=speedup,model,nonsense&sort=-speedup&group=problem")).toEqual({ columns: ["speedup", "model"], sort: { key: "speedup", down: true }, group: "problem" });
  expect(of("columns=x&sort=constructor&group=__proto__")).toEqual(of(""));
  const again = parametersOf(of("columns=model,speedup&sort=problem&group=tag"));
  expect(again).toEqual({ columns: "speedup,model", sort: "problem", group: "tag" });
  expect(parametersOf(of(""))).toEqual({ columns: null, sort: null, group: null });
  expect([needsAll(of("")), needsAll(of("sort=submitted")), needsAll(of("group=model"))]).toEqual([false, true, true]);
});

test("jobs without a figure come last either way, equals newest first", () => {
  const jobs = [job(1, { best_speedup: 2 }), job(2), job(3, { best_speedup: 5 }), job(4)];
  expect(ids(sortedJobs(jobs, { key: "speedup", down: true }))).toEqual(["3", "1", "4", "2"]);
  expect(ids(sortedJobs(jobs, { key: "speedup", down: false }))).toEqual(["1", "3", "4", "2"]);
});

test("groups are told with their size and best, closed ones without their jobs, and a job is under each of its tags", () => {
  const jobs = [job(1, { tags: ["a", "b"], best_speedup: 2 }), job(2, { tags: ["a"] }), job(3)];
  const told = rowsOf(jobs, of("group=tag"), new Set(["b"]));
  expect(told.map((row) => (row.kind === "group" ? `${row.name} ${row.count} ${row.best?.id ?? "-"}` : row.job.id))).toEqual([
    "a 2 job-1", "job-2", "job-1", "b 1 job-1", "no tags 1 -", "job-3",
  ]);
});

test("ten thousand jobs are sorted and grouped within a moment", () => {
  const jobs = Array.from({ length: 10_000 }, (_, index) => job(index, { problem: `p${index % 97}`, best_speedup: (index * 7919) % 1000 }));
  const started = performance.now();
  expect(rowsOf(jobs, of("sort=-speedup&group=problem"), new Set())).toHaveLength(10_097);
  expect(performance.now() - started).toBeLessThan(1_500);
});

test("the newest page wins over what was loaded before, and what it lacks is gone", () => {
  const [one, two, three] = [job(1), job(2), job(3)];
  expect(ids(merged([job(4), three], [{ ...three, status: "running" }, two, one], false))).toEqual(["4", "3", "2", "1"]);
  expect(ids(merged([job(4), two], [three, one], false))).toEqual(["4", "2", "1"]);
  expect(ids(merged([job(4)], [three], true))).toEqual(["4"]);
});

test("views are kept where the browser permits it, and read whatever is there", () => {
  const kept = new Map<string, string>();
  const storage = () => ({ getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) });
  expect(savedViews(storage)).toEqual([]);
  expect(keepViews(storage, [{ name: "fast", search: "sort=-speedup" }])).toBe(true);
  expect(savedViews(storage)).toEqual([{ name: "fast", search: "sort=-speedup" }]);
  kept.set("kernelwright.views", "[1, null, {\"name\": 3}]");
  expect(savedViews(storage)).toEqual([]);
  const refused = () => {
    throw new DOMException("denied", "SecurityError");
  };
  expect([savedViews(refused), keepViews(refused, [])]).toEqual([[], false]);
});

test("a leaderboard ranks within a problem and a device", () => {
  const jobs = [job(1, { best_speedup: 2 }), job(2, { best_speedup: 3 }), job(3), job(4, { device: "h200", best_speedup: 9 })];
  expect(leaderboard(jobs).map((place) => [place.device, ids(place.ranked), place.jobs])).toEqual([
    ["cpu", ["2", "1"], 3],
    ["h200", ["4"], 1],
  ]);
});

test("a sure speedup ranks above a higher one that is not", () => {
  const jobs = [job(1, { best_speedup: 2.08, best_ci95: [0.9, 4.1] }), job(2, { best_speedup: 1.33, best_ci95: [1.3, 1.36] }), job(3, { best_speedup: 5 })];
  expect(leaderboard(jobs).map((place) => ids(place.ranked))).toEqual([["2", "1", "3"]]);
});

test("a suite is summed up by the geometric mean, also where nothing is correct yet", () => {
  const jobs = [job(1, { best_speedup: 2, best_gain: "surely" }), job(2, { best_speedup: 8, best_gain: "within_noise" }), job(3, { status: "running" })];
  expect(summarised(jobs)).toEqual({ total: 3, ended: 2, correct: 2, faster: 1, mean: expect.closeTo(4) });
  expect(summarised([])).toEqual({ total: 0, ended: 0, correct: 0, faster: 0, mean: null });
  expect(byFamily(jobs).map(([name, sum]) => [name, sum.total])).toEqual([["not validated", 3]]);
});

test("two runs are compared problem by problem, and what one lacks is told", () => {
  const before = [job(1, { best_speedup: 1, best_ci95: [0.9, 1.1] }), job(2, { problem: "gone", best_speedup: 2 })];
  const after = [job(3, { best_speedup: 2, best_ci95: [1.8, 2.2] })];
  expect(compared(after, before).map((pair) => [pair.problem, pair.one?.id, pair.other?.id, pair.change, pair.sure])).toEqual([
    ["gone", undefined, "job-2", null, false],
    ["softmax", "job-3", "job-1", 2, true],
  ]);
});
