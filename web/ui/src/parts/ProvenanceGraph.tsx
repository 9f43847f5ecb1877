/** What an experience came from and what came of it: xyflow draws what is in sight. */
import "@xyflow/react/dist/style.css";
import { useComputedColorScheme } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Background, Controls, Handle, MarkerType, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import { memo, useMemo } from "react";
import { useNavigate } from "react-router";
import type { ProvenanceNode, ProvenanceView } from "../client";
import { ratio } from "../format";
import { addressOf, arrange, nameOf } from "../provenance";
import { inks } from "./Pills";
import { useFit } from "./useFit";

const COLUMN = 230;
const LEVEL = 74;
type Thing = Node<{ thing: ProvenanceNode; focus: boolean }, "thing">;
const MARKS = { experience: "✎", candidate: "ƒ", job: "▤" } as const;
const DASHES = { used: "6 4", started: undefined, taught: undefined, made: "2 4" } as const;

export default function ProvenanceGraph({ found, focus }: { found: ProvenanceView; focus: string }) {
  const navigate = useNavigate();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const { nodes, edges } = useMemo(() => graph(found, focus), [found, focus]);
  // All of it would be too small to read on a phone: what is tied to the experience comes first there.
  const narrow = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  const fit = useMemo(() => ({ maxZoom: 1.1, padding: 0.1, nodes: narrow ? near(found, focus) : undefined }), [found, focus, narrow]);
  const { place, setFlow } = useFit<Thing>(fit);
  return (
    <div ref={place} style={{ height: 440, border: "1px solid var(--mantine-color-default-border)", borderRadius: 8 }}>
      <ReactFlow
        key={`${focus} ${narrow}`}
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        colorMode={scheme}
        fitView
        onInit={(flow) => setFlow(flow)}
        fitViewOptions={fit}
        minZoom={0.05}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        onNodeClick={(_, node) => void navigate(addressOf((node as Thing).data.thing))}
        aria-label="Provenance from causes on the left to effects on the right; the table below holds the same"
      >
        <Background />
        <Controls showInteractive={false} fitViewOptions={fit} />
      </ReactFlow>
    </div>
  );
}

function near({ edges }: ProvenanceView, focus: string): { id: string }[] {
  const tied = edges.filter((one) => one.source === focus || one.target === focus).flatMap((one) => [one.source, one.target]);
  return [...new Set([focus, ...tied])].map((id) => ({ id }));
}

function graph(found: ProvenanceView, focus: string): { nodes: Thing[]; edges: Edge[] } {
  const nodes = arrange(found.nodes, found.edges).map(({ node, x, y }): Thing => ({
    id: node.id,
    type: "thing",
    position: { x: x * COLUMN, y: y * LEVEL },
    width: 170,
    height: 56,
    data: { thing: node, focus: node.id === focus },
  }));
  const edges = found.edges.map(({ source, target, kind }): Edge => ({
    id: `${source} ${kind} ${target}`,
    source,
    target,
    style: { strokeDasharray: DASHES[kind], stroke: "var(--quiet)" },
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--quiet)" },
  }));
  return { nodes, edges };
}

/** The colours of what is known about it. */
function inkOf(thing: ProvenanceNode): string {
  if (thing.retracted) return "rejected";
  if (thing.kind !== "candidate") return thing.kind === "job" ? "pending" : "running";
  return thing.verdict === null || thing.verdict === "infrastructure_error" ? "pending" : thing.verdict;
}

const ThingBox = memo(function ThingBox({ data: { thing, focus } }: NodeProps<Thing>) {
  const ink = inkOf(thing);
  return (
    <div className="node thing" style={{ ...inks(ink), outline: focus ? "3px solid var(--ink)" : undefined, outlineOffset: 2 }} title={nameOf(thing)} data-thing={thing.id}>
      <Handle type="target" position={Position.Left} isConnectable={false} style={{ visibility: "hidden" }} />
      <b>
        {MARKS[thing.kind]} {thing.kind === "candidate" ? "kernel" : thing.kind}
      </b>{" "}
      {thing.retracted ? "retracted" : thing.kind === "candidate" ? [thing.verdict, thing.speedup === null ? null : ratio(thing.speedup)].filter(Boolean).join(" ") : ""}
      <br />
      <span>{thing.kind === "candidate" && thing.step === null ? thing.id : nameOf(thing)}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} style={{ visibility: "hidden" }} />
    </div>
  );
});

const TYPES = { thing: ThingBox };
