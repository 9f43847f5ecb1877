/** An experience's provenance as places on a page and as rows of a table. */
import type { EdgeKind, ProvenanceEdge, ProvenanceNode } from "./client";

export interface Spot {
  node: ProvenanceNode;
  /** In units of one column and one row. */
  x: number;
  y: number;
}

/** Causes on the left of their effects; in each column, things stand near what they are tied to, and its middle is the graph's. */
export function arrange(nodes: readonly ProvenanceNode[], edges: readonly ProvenanceEdge[]): Spot[] {
  const columns = [...new Set(nodes.map((one) => one.layer))].sort((a, b) => a - b);
  const heights = new Map<string, number>();
  const near = new Map<string, string[]>();
  for (const { source, target } of edges) {
    near.set(source, [...(near.get(source) ?? []), target]);
    near.set(target, [...(near.get(target) ?? []), source]);
  }
  const pull = (id: string): number => {
    const placed = (near.get(id) ?? []).flatMap((other) => heights.get(other) ?? []);
    return placed.length === 0 ? 0 : placed.reduce((sum, at) => sum + at, 0) / placed.length;
  };
  // From the middle outwards: what is nearer the experience itself decides.
  const spots: Spot[] = [];
  for (const layer of [...columns].sort((a, b) => Math.abs(a) - Math.abs(b))) {
    const column = nodes.filter((one) => one.layer === layer).map((node) => ({ node, at: node.layer === 0 && node.kind === "experience" ? -Infinity : pull(node.id) }));
    column.sort((a, b) => a.at - b.at);
    column.forEach(({ node }, row) => {
      const y = row - (column.length - 1) / 2;
      heights.set(node.id, y);
      spots.push({ node, x: columns.indexOf(layer), y });
    });
  }
  return spots;
}

export const WORDS: Record<EdgeKind, { does: string; suffers: string }> = {
  used: { does: "was in the context of", suffers: "made with" },
  started: { does: "was the start of", suffers: "started from" },
  taught: { does: "taught", suffers: "learned from" },
  made: { does: "made", suffers: "made in" },
};

/** What a thing is called where its title is not known. */
export function nameOf(node: ProvenanceNode): string {
  if (node.kind === "experience") return node.title || node.id;
  if (node.kind === "job") return `job ${node.id}`;
  return node.step === null ? "a kernel" : `kernel of round ${node.step + 1}`;
}

export const addressOf = (node: ProvenanceNode): string =>
  node.kind === "experience" ? `/memory/${node.id}` : node.kind === "job" ? `/jobs/${node.id}` : `/candidates/${node.id}`;

export interface Row {
  node: ProvenanceNode;
  /** What it has to do with the others: their names, by what ties them. */
  ties: { words: string; names: string[] }[];
}

/** The graph again, a line for each thing, causes first. */
export function rowsOf(nodes: readonly ProvenanceNode[], edges: readonly ProvenanceEdge[]): Row[] {
  const names = new Map(nodes.map((one) => [one.id, nameOf(one)]));
  return [...nodes]
    .sort((a, b) => a.layer - b.layer)
    .map((node) => {
      const ties = new Map<string, string[]>();
      const tie = (words: string, other: string): void => void ties.set(words, [...(ties.get(words) ?? []), names.get(other) ?? other]);
      for (const edge of edges) {
        if (edge.target === node.id) tie(WORDS[edge.kind].suffers, edge.source);
        if (edge.source === node.id) tie(WORDS[edge.kind].does, edge.target);
      }
      return { node, ties: [...ties].map(([words, others]) => ({ words, names: others })) };
    });
}
