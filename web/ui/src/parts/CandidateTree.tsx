/** Which candidate came from which: xyflow draws what is in sight. */
import "@xyflow/react/dist/style.css";
import { useComputedColorScheme } from "@mantine/core";
import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import { memo, useMemo } from "react";
import { useNavigate } from "react-router";
import { KINDS, kindOf, layOut, type Kind } from "../candidates";
import type { CandidateSummary } from "../client";
import { ratio } from "../format";
import { inks } from "./Pills";
import { Empty } from "./States";

const COLUMN = 134;
const LEVEL = 86;
type CandidateNode = Node<{ candidate: CandidateSummary; kind: Kind; selected: boolean }, "candidate">;

interface Props {
  candidates: CandidateSummary[];
  bestId: string | null;
  selected: string | null;
  /** The job has ended. */
  over: boolean;
}

export default function CandidateTree({ candidates, bestId, selected, over }: Props) {
  const navigate = useNavigate();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const { nodes, edges } = useMemo(() => graph(candidates, bestId, selected, over), [candidates, bestId, selected, over]);
  if (candidates.length === 0) return <Empty title={over ? "No candidates" : "No candidates yet"} />;
  return (
    <div style={{ height: 440, border: "1px solid var(--mantine-color-default-border)", borderRadius: 8 }}>
      <ReactFlow
        // Each time a tree has doubled, look at all of it again.
        key={Math.floor(Math.log2(candidates.length))}
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        colorMode={scheme}
        fitView
        fitViewOptions={{ maxZoom: 1.1, padding: 0.15 }}
        minZoom={0.05}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        onNodeClick={(_, node) => void navigate(`/candidates/${node.id}`)}
        aria-label="Lineage of the candidates; the table lists the same"
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function graph(candidates: CandidateSummary[], bestId: string | null, selected: string | null, over: boolean): { nodes: CandidateNode[]; edges: Edge[] } {
  const places = layOut(candidates);
  const known = new Set(candidates.map((one) => one.id));
  const nodes = places.map(({ candidate, x, y }): CandidateNode => ({
    id: candidate.id,
    type: "candidate",
    position: { x: x * COLUMN, y: y * LEVEL },
    width: 120,
    height: 54,
    data: { candidate, kind: kindOf(candidate, bestId, over), selected: candidate.id === selected },
  }));
  const edges = candidates.flatMap((one): Edge[] =>
    one.parent_id !== null && known.has(one.parent_id) ? [{ id: one.id, source: one.parent_id, target: one.id }] : [],
  );
  return { nodes, edges };
}

const CandidateBox = memo(function CandidateBox({ data: { candidate, kind, selected } }: NodeProps<CandidateNode>) {
  return (
    <div className="node" style={{ ...inks(kind), outline: selected ? "3px solid var(--ink)" : undefined, outlineOffset: 2 }} title={candidate.summary}>
      <Handle type="target" position={Position.Top} isConnectable={false} style={{ visibility: "hidden" }} />
      <b>
        {KINDS[kind].mark} {candidate.step + 1}
      </b>{" "}
      {KINDS[kind].label}
      <br />
      {candidate.speedup?.best_baseline ? ratio(candidate.speedup.best_baseline) : (candidate.failed_gate ?? "")}
      <Handle type="source" position={Position.Bottom} isConnectable={false} style={{ visibility: "hidden" }} />
    </div>
  );
});

const TYPES = { candidate: CandidateBox };
