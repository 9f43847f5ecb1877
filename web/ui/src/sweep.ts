/** Figures of a kernel over its input sets, by size. */
import type { EvaluationReport, ReportedObjective } from "./client";
import { bytesOf, micros, ratio } from "./format";

export interface SweepPoint {
  name: string;
  bytes: number;
  value: number;
  low: number;
  high: number;
}

export interface Sweep {
  latency: SweepPoint[];
  baseline: SweepPoint[];
  /** The fastest baseline of each set. */
  speedup: SweepPoint[];
}

/** By size, the smallest first; sets of older reports, whose sizes were not recorded, are left out. */
export function sweepOf(report: EvaluationReport): Sweep {
  const sets = report.shapes.flatMap((one) => (one.bytes ? [{ ...one, bytes: one.bytes, name: one.name || one.shapes.map((shape) => shape.join("×")).join(", ") }] : []));
  sets.sort((a, b) => a.bytes - b.bytes);
  return {
    latency: sets.map(({ name, bytes, latency }) => ({ name, bytes, value: latency.median_us, low: latency.ci95_us[0], high: latency.ci95_us[1] })),
    baseline: sets.flatMap(({ name, bytes, baselines }) => {
      const known = Object.values(baselines ?? {}).flatMap((one) => (one ? [one] : []));
      const fastest = known.sort((a, b) => a.median_us - b.median_us)[0];
      return fastest ? [{ name, bytes, value: fastest.median_us, low: fastest.ci95_us[0], high: fastest.ci95_us[1] }] : [];
    }),
    speedup: sets.flatMap(({ name, bytes, speedup: { best_baseline: value, ci95 } }) => (value ? [{ name, bytes, value, low: ci95?.[0] ?? value, high: ci95?.[1] ?? value }] : [])),
  };
}

/** What a report's figures are of; empty where there is one input set only. */
export function objectiveText(told: ReportedObjective | null | undefined): string {
  if (!told || (told.sets === 1 && told.kind !== "set")) return "";
  if (told.kind === "geometric_mean") return `geometric mean over ${told.sets} input sets`;
  return told.kind === "worst" ? `worst of ${told.sets} input sets, ${told.input_set}` : `input set ${told.input_set}`;
}

/** A point in words. */
export function pointText(point: SweepPoint, kind: "latency" | "speedup"): string {
  const show = kind === "latency" ? micros : ratio;
  return `${point.name} (${bytesOf(point.bytes)}): ${show(point.value)} (95 % interval ${show(point.low)} – ${show(point.high)})`;
}
