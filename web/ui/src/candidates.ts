/** Candidates of a job as rows, as a tree and over time. */
import type { CandidateSummary, Gain } from "./client";
import { ratio } from "./format";
import { boundsOf } from "./ratios";

/** How the server's word on whether a kernel is faster than the fastest baseline is shown: green is `surely` only. */
export const GAINS: Record<Gain, { label: string; mark: string; ink: string }> = {
  surely: { label: "faster", mark: "▲", ink: "accepted" },
  within_noise: { label: "within noise", mark: "≈", ink: "no-gain" },
  none: { label: "slower", mark: "▼", ink: "pending" },
};

/** `correct`: accepted, and not surely faster than the fastest baseline. */
export type Kind = "best" | "accepted" | "correct" | "suspicious" | "rejected" | "machine" | "pending" | "stopped";

/** What a candidate is shown as: words and colour say the same. `over`: its job has ended, so nobody judges it any more. */
export function kindOf(candidate: CandidateSummary, bestId: string | null, over = false): Kind {
  if (candidate.id === bestId) return "best";
  if (candidate.verdict === "accepted") return candidate.gain === "surely" ? "accepted" : "correct";
  if (candidate.verdict === "suspicious" || candidate.verdict === "rejected") return candidate.verdict;
  if (candidate.verdict === "infrastructure_error") return "machine";
  return over ? "stopped" : "pending";
}

export const KINDS: Record<Kind, { label: string; color: string; mark: string }> = {
  best: { label: "best", color: "yellow", mark: "★" },
  accepted: { label: "accepted", color: "teal", mark: "✓" },
  correct: { label: "accepted", color: "gray", mark: "✓" },
  suspicious: { label: "suspicious", color: "orange", mark: "?" },
  rejected: { label: "rejected", color: "red", mark: "✕" },
  machine: { label: "machine error", color: "grape", mark: "!" },
  pending: { label: "evaluating", color: "gray", mark: "…" },
  stopped: { label: "not evaluated", color: "gray", mark: "–" },
};

export type SortKey = "step" | "verdict" | "median_us" | "best_baseline" | "eager" | "compile" | "roofline_fraction" | "device_s";
export interface Sort {
  key: SortKey;
  down: boolean;
}

const ORDER = ["accepted", "suspicious", "rejected", "infrastructure_error"];

function sortable(candidate: CandidateSummary, key: SortKey): number | null {
  if (key === "verdict") return candidate.verdict ? ORDER.indexOf(candidate.verdict) : ORDER.length;
  if (key === "best_baseline" || key === "eager" || key === "compile") return candidate.speedup?.[key] ?? null;
  return candidate[key] ?? null;
}

/** Sorted by a column; what has no figure there comes last either way, and equals stay in order of their steps. */
export function sorted(candidates: readonly CandidateSummary[], { key, down }: Sort): CandidateSummary[] {
  return [...candidates].sort((left, right) => {
    const [a, b] = [sortable(left, key), sortable(right, key)];
    if (a === null || b === null) return a === b ? left.step - right.step : a === null ? 1 : -1;
    return (down ? b - a : a - b) || left.step - right.step;
  });
}

export interface Placed {
  candidate: CandidateSummary;
  /** In units of one column and one row. */
  x: number;
  y: number;
}

/** A place for every candidate: parents above and in the middle of their children, generations in rows. */
export function layOut(candidates: readonly CandidateSummary[]): Placed[] {
  const known = new Set(candidates.map((one) => one.id));
  const children = new Map<string | null, CandidateSummary[]>();
  for (const one of candidates) {
    const parent = one.parent_id !== null && known.has(one.parent_id) && one.parent_id !== one.id ? one.parent_id : null;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const placed: Placed[] = [];
  let column = 0;
  // By hand rather than by recursion: a chain of a thousand refinements is an ordinary job.
  const stack: { candidate: CandidateSummary; depth: number; open: boolean }[] = [];
  const push = (parent: string | null, depth: number): void => {
    for (const one of [...(children.get(parent) ?? [])].reverse()) stack.push({ candidate: one, depth, open: false });
  };
  const xs = new Map<string, number>();
  push(null, 0);
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const own = children.get(top.candidate.id) ?? [];
    if (!top.open && own.length > 0) {
      top.open = true;
      push(top.candidate.id, top.depth + 1);
      continue;
    }
    stack.pop();
    const ends = [own[0], own.at(-1)].flatMap((one) => (one ? [xs.get(one.id) ?? 0] : []));
    const x = ends.length > 0 ? (ends[0]! + ends.at(-1)!) / 2 : column++;
    xs.set(top.candidate.id, x);
    placed.push({ candidate: top.candidate, x, y: top.depth });
  }
  return placed;
}

export interface Point {
  step: number;
  value: number;
  id: string;
  /** Whether it is surely faster than the fastest baseline. */
  faster?: boolean;
  /** 95 % interval of the value, where that was measured. */
  bounds?: [number, number] | null;
  /** Of the best so far, why it is lower than before. */
  fell?: string;
}

export const BASELINES = ["eager", "compile", "compile_max"] as const;
export type Baseline = (typeof BASELINES)[number] | "best_baseline";

/** Why the best so far is lower after a candidate than before it. */
function fallOf(before: Point, now: Point, cause: CandidateSummary): string {
  const change = `${ratio(before.value)} → ${ratio(now.value)}`;
  if (cause.verdict !== "accepted") return `${change}: the best kernel until then did not hold when it was judged again (${cause.verdict ?? "no verdict"}), so it counts no more.`;
  const measured = "from here on only kernels that were measured a second time count.";
  const apart = before.bounds && now.bounds ? before.bounds[0] > now.bounds[1] : null;
  if (apart === null) return `${change}: ${measured} The highest of many first measurements is usually a lucky one.`;
  if (apart) return `${change}: ${measured} The intervals do not overlap, so the first measurement was too high, or the machine was not as quiet.`;
  return `${change}: ${measured} The intervals overlap: the difference is within noise.`;
}

/** Accepted candidates' speedups over one baseline, and the best after each step: once kernels are measured again, the best of
 * those that held is it, also where it is slower than it first seemed. */
export function progress(candidates: readonly CandidateSummary[], baseline: Baseline): { points: Point[]; best: Point[] } {
  const points: Point[] = [];
  const best: Point[] = [];
  const confirmed: Point[] = [];
  let once: Point[] = [];
  for (const one of [...candidates].sort((a, b) => a.step - b.step)) {
    const again = one.origin === "confirmation";
    const value = one.verdict === "accepted" ? one.speedup?.[baseline] : null;
    if (typeof value === "number") {
      const point = { step: one.step + 1, value, id: one.id, faster: one.gain === "surely", bounds: boundsOf(one.speedup, baseline) };
      points.push(point);
      (again ? confirmed : once).push(point);
    } else if (again && (one.verdict === "rejected" || one.verdict === "suspicious")) {
      once = once.filter((point) => point.id !== one.parent_id);
    }
    const held = confirmed.length > 0 ? confirmed : once;
    const top = held.length > 0 ? held.reduce((a, b) => (b.value > a.value ? b : a)) : undefined;
    const before = best.at(-1);
    if (top && top.id !== before?.id) best.push({ ...top, step: one.step + 1, fell: before && top.value < before.value ? fallOf(before, top, one) : undefined });
  }
  const last = candidates.at(-1);
  const end = best.at(-1);
  if (last && end && last.step + 1 > end.step) best.push({ ...end, step: last.step + 1, fell: undefined });
  return { points, best };
}

export interface RoofPoint {
  name: string;
  kind: Kind | "baseline";
  medianUs: number;
  /** Floating-point operations a byte. */
  intensity: number;
  gflops: number;
  /** What the 95 % interval of the latency comes to, in GFLOP/s. */
  bounds: [number, number] | null;
}

export interface Roof {
  peakGflops: number;
  bandwidthGbS: number;
  /** Of a working set that fits the last-level cache. */
  cacheGbS: number;
  /** Size of the last-level cache. */
  cacheBytes?: number | null;
}

/** A latency as a place under the roof. */
export function roofPoint(name: string, kind: RoofPoint["kind"], medianUs: number, flops: number, bytes: number, ci95Us: readonly number[] | null = null): RoofPoint {
  const rate = (us: number): number => flops / (us * 1e3);
  const [low, high] = ci95Us ?? [];
  return { name, kind, medianUs, intensity: flops / bytes, gflops: rate(medianUs), bounds: low && high ? [rate(high), rate(low)] : null };
}

/** Accepted candidates and the baselines that the best of them was measured beside. Figures of several input sets are not those of
 * the first one, which the roof is of: its median follows from the share of the roof that was reached, and its baselines are not told. */
export function roofPoints(candidates: readonly CandidateSummary[], bestId: string | null, { flops, bytes, floorUs }: { flops: number; bytes: number; floorUs: number }): RoofPoint[] {
  const timed = candidates.filter((one) => one.verdict === "accepted" && one.median_us);
  const points = timed.flatMap((one): RoofPoint[] => {
    const [name, kind] = [`round ${one.step + 1}`, kindOf(one, bestId)];
    if (one.input_sets <= 1) return [roofPoint(name, kind, one.median_us!, flops, bytes, one.ci95_us)];
    return one.roofline_fraction && floorUs > 0 ? [roofPoint(name, kind, floorUs / one.roofline_fraction, flops, bytes)] : [];
  });
  const beside = timed.find((one) => one.id === bestId) ?? timed.at(-1);
  const baselines = beside && beside.input_sets <= 1 ? Object.entries(beside.baselines_us ?? {}) : [];
  return [...points, ...baselines.map(([name, median]) => roofPoint(name, "baseline", median, flops, bytes))];
}

/** Which roof holds at an intensity, and what it permits there in GFLOP/s. */
export function boundAt({ peakGflops, bandwidthGbS }: Roof, intensity: number): { bound: "memory" | "compute"; permits: number } {
  const memory = bandwidthGbS * intensity;
  return memory < peakGflops ? { bound: "memory", permits: memory } : { bound: "compute", permits: peakGflops };
}

/** The powers of ten around some values: ends of a logarithmic axis whose ticks are whole. */
export function decades(values: readonly number[]): [number, number] {
  const there = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  if (there.length === 0) return [1, 10];
  const from = Math.floor(Math.min(...there));
  return [10 ** from, 10 ** Math.max(Math.ceil(Math.max(...there)), from + 1)];
}

/** Corner points of the roof over a range of intensities. */
export function roofLine(peakGflops: number, bandwidthGbS: number, from: number, to: number): [number, number][] {
  const ridge = peakGflops / bandwidthGbS;
  const under = (x: number): [number, number] => [x, Math.min(peakGflops, bandwidthGbS * x)];
  return [from, ...(ridge > from && ridge < to ? [ridge] : []), to].map(under);
}
