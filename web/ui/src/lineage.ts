/** Which candidate came from which, with long unbranched stretches folded. */
import { layOut, type Placed } from "./candidates";
import type { CandidateSummary, Gain } from "./client";

/** Candidates in a row, each the only child of the one before, from which on they are folded. */
export const LEAST_FOLDED = 4;

export interface Fold {
  /** That of its first candidate. */
  id: string;
  members: CandidateSummary[];
}

export interface Lineage {
  placed: Placed[];
  folds: Map<string, Fold>;
  /** From parent to child, as shown. */
  edges: [string, string][];
}

/** The tree as it is drawn: `open` folds are shown in full, and never folded are `kept`, roots, leaves and forks. */
export function lineage(candidates: readonly CandidateSummary[], kept: ReadonlySet<string>, open: ReadonlySet<string>): Lineage {
  const byId = new Map(candidates.map((one) => [one.id, one]));
  const parentOf = (one: CandidateSummary): string | null => (one.parent_id !== null && one.parent_id !== one.id && byId.has(one.parent_id) ? one.parent_id : null);
  const children = new Map<string, string[]>();
  for (const one of candidates) {
    const parent = parentOf(one);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), one.id]);
  }
  const plain = (one: CandidateSummary): boolean => !kept.has(one.id) && parentOf(one) !== null && children.get(one.id)?.length === 1;
  const folds = new Map<string, Fold>();
  const inside = new Map<string, string>();
  for (const one of candidates) {
    if (!plain(one) || inside.has(one.id)) continue;
    const before = byId.get(parentOf(one)!)!;
    if (plain(before)) continue;
    const members = [one];
    for (let next = byId.get(children.get(one.id)![0]!)!; plain(next) && members.length <= candidates.length; next = byId.get(children.get(next.id)![0]!)!) members.push(next);
    if (members.length < LEAST_FOLDED || open.has(one.id)) continue;
    folds.set(one.id, { id: one.id, members });
    for (const member of members) inside.set(member.id, one.id);
  }
  const shown = candidates
    .filter((one) => !inside.has(one.id) || folds.has(one.id))
    .map((one) => {
      const parent = parentOf(one);
      return { ...one, parent_id: parent === null ? null : (inside.get(parent) ?? parent) };
    });
  const placed = layOut(shown);
  const drawn = new Set(placed.map((one) => one.candidate.id));
  const edges = shown.flatMap((one): [string, string][] => (one.parent_id !== null && drawn.has(one.parent_id) && drawn.has(one.id) ? [[one.parent_id, one.id]] : []));
  return { placed, folds, edges };
}

/** The colour of a gain, and how strong it is: 0 at the baseline's own speed, 1 at four times it or a quarter. */
export function tint(candidate: CandidateSummary): { gain: Gain; strength: number } | null {
  const { gain } = candidate;
  const value = candidate.speedup?.best_baseline;
  if (gain === null || !value || value <= 0) return null;
  return { gain, strength: gain === "within_noise" ? 0.3 : Math.min(1, Math.abs(Math.log2(value)) / 2) };
}

export const STAGINGS = ["plain", "vector", "tiled", "tiled vector", "shared", "tensor core"] as const;
export const PARALLEL = ["serial", "lanes", "threads", "threads and lanes"] as const;
