/** Counters of two profiles beside each other. */
import type { EvaluationReport } from "./client";

export interface ComparedCounter {
  name: string;
  /** Of either profile; null where it has none. */
  values: [number | null, number | null];
  /** The second over the first; null where either is missing or zero. */
  ratio: number | null;
}

/** The first profile's counters in its order, then those that only the second has; the latency first, where known. */
export function comparedCounters(first: EvaluationReport, second: EvaluationReport): ComparedCounter[] {
  const [mine, theirs] = [countersOf(first), countersOf(second)];
  return [...new Set([...mine.keys(), ...theirs.keys()])].map((name) => {
    const values: [number | null, number | null] = [mine.get(name) ?? null, theirs.get(name) ?? null];
    return { name, values, ratio: values[0] && values[1] ? values[1] / values[0] : null };
  });
}

function countersOf({ latency, roofline, profile }: EvaluationReport): Map<string, number> {
  const known: [string, number | undefined][] = [
    ["median latency (µs)", latency?.median_us],
    ["share of the roofline", roofline?.fraction],
  ];
  return new Map([...known.filter((one): one is [string, number] => one[1] !== undefined), ...Object.entries(profile?.metrics ?? {})]);
}
