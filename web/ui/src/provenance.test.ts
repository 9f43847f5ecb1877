import { expect, test } from "vitest";
import type { ProvenanceEdge, ProvenanceNode } from "./client";
import { addressOf, arrange, nameOf, rowsOf } from "./provenance";

function node(id: string, kind: ProvenanceNode["kind"], layer: number, more: Partial<ProvenanceNode> = {}): ProvenanceNode {
  return { id, kind, layer, title: kind === "experience" ? `about ${id}` : "", job_id: null, step: null, verdict: null, speedup: null, retracted: false, ...more };
}

const NODES = [
  node("old", "experience", -2),
  node("job-1", "job", -2),
  node("cand-0", "candidate", -1, { step: 0 }),
  node("exp", "experience", 0),
  node("cand-1", "candidate", 1, { step: 1 }),
];
const EDGES: ProvenanceEdge[] = [
  { source: "old", target: "cand-0", kind: "used" },
  { source: "job-1", target: "cand-0", kind: "made" },
  { source: "cand-0", target: "exp", kind: "taught" },
  { source: "exp", target: "cand-1", kind: "used" },
  { source: "job-1", target: "cand-1", kind: "made" },
];

test("causes stand left of their effects and no two share a place", () => {
  const spots = new Map(arrange(NODES, EDGES).map(({ node: one, x, y }) => [one.id, { x, y }]));
  expect([...new Set(NODES.map((one) => spots.get(one.id)!.x))]).toEqual([0, 1, 2, 3]);
  const places = [...spots.values()].map(({ x, y }) => `${x}/${y}`);
  expect(new Set(places).size).toBe(NODES.length);
});

test("every thing has a row that says in words what the arrows say", () => {
  const rows = rowsOf(NODES, EDGES);
  expect(rows.map((row) => row.node.id)).toEqual(["old", "job-1", "cand-0", "exp", "cand-1"]);
  expect(rows[2]!.ties).toEqual([
    { words: "made with", names: ["about old"] },
    { words: "made in", names: ["job job-1"] },
    { words: "taught", names: ["about exp"] },
  ]);
});

test("things lead to their own pages", () => {
  expect(NODES.map(addressOf)).toEqual(["/memory/old", "/jobs/job-1", "/candidates/cand-0", "/memory/exp", "/candidates/cand-1"]);
  expect(nameOf(node("cand-9", "candidate", -1))).toBe("a kernel");
});
