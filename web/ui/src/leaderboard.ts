/** Jobs ranked by problem, and a tag's jobs as a suite: progress, per family, beside another run. */
import type { JobStatus, JobView } from "./client";
import { sortedJobs } from "./jobTable";

const FINAL: ReadonlySet<JobStatus> = new Set(["solved", "no_gain", "unsolved", "refused", "failed", "cancelled"]);

export interface Place {
  problem: string;
  /** Where it ran: kernels on other devices are not compared. */
  device: string;
  /** By what is sure of their speedup, the most first; jobs without a correct kernel are not ranked. */
  ranked: JobView[];
  jobs: number;
}

/** What a speedup is at least, with 95 % confidence. Without an interval nothing is sure. */
const atLeast = (job: JobView): number => job.best_ci95?.[0] ?? 0;

/** Problems by name, each with its jobs; a noisy 2x does not rank above a sure 1.5x. */
export function leaderboard(jobs: readonly JobView[]): Place[] {
  const places = new Map<string, Place>();
  for (const job of jobs) {
    const key = `${job.problem}\n${job.device}`;
    const place = places.get(key) ?? { problem: job.problem, device: job.device, ranked: [], jobs: 0 };
    place.jobs += 1;
    if (job.best_speedup !== null) place.ranked.push(job);
    places.set(key, place);
  }
  const all = [...places.values()].sort((a, b) => a.problem.localeCompare(b.problem) || a.device.localeCompare(b.device));
  for (const place of all) place.ranked = sortedJobs(place.ranked, { key: "speedup", down: true }).sort((a, b) => atLeast(b) - atLeast(a));
  return all;
}

export interface Summary {
  total: number;
  ended: number;
  correct: number;
  faster: number;
  /** Geometric mean of the speedups of those with a correct kernel; null where there is none. */
  mean: number | null;
}

export function summarised(jobs: readonly JobView[]): Summary {
  const speedups = jobs.flatMap((job) => (job.best_speedup ? [job.best_speedup] : []));
  const faster = jobs.filter((job) => job.best_gain === "surely").length;
  const mean = speedups.length > 0 ? Math.exp(speedups.reduce((sum, one) => sum + Math.log(one), 0) / speedups.length) : null;
  return { total: jobs.length, ended: jobs.filter((job) => FINAL.has(job.status)).length, correct: speedups.length, faster, mean };
}

/** The same by family of problems; those that were not validated yet come last. */
export function byFamily(jobs: readonly JobView[]): [string, Summary][] {
  const families = new Map<string, JobView[]>();
  for (const job of jobs) {
    const name = job.analysis?.family ?? "not validated";
    families.set(name, [...(families.get(name) ?? []), job]);
  }
  return [...families].sort(([a], [b]) => a.localeCompare(b)).map(([name, members]) => [name, summarised(members)]);
}

export interface Pair {
  problem: string;
  device: string;
  one: JobView | null;
  other: JobView | null;
  /** One's speedup over the other's; null where either has none. */
  change: number | null;
  /** Whether their intervals are apart. */
  sure: boolean;
}

/** Two runs of a suite, problem by problem: the best job of each. */
export function compared(one: readonly JobView[], other: readonly JobView[]): Pair[] {
  const index = (jobs: readonly JobView[]) => new Map(leaderboard(jobs).map((place) => [`${place.problem}\n${place.device}`, place]));
  const [left, right] = [index(one), index(other)];
  return [...new Set([...left.keys(), ...right.keys()])].sort().map((key): Pair => {
    const [problem = "", device = ""] = key.split("\n");
    const [a, b] = [left.get(key)?.ranked[0] ?? null, right.get(key)?.ranked[0] ?? null];
    const change = a?.best_speedup && b?.best_speedup ? a.best_speedup / b.best_speedup : null;
    const [own, its] = [a?.best_ci95, b?.best_ci95];
    return { problem, device, one: a, other: b, change, sure: Boolean(own && its && (own[0] > its[1] || own[1] < its[0])) };
  });
}
