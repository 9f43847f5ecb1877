/** Which candidate came from which: xyflow draws what is in sight. */
import "@xyflow/react/dist/style.css";
import { Button, Group, Text, useComputedColorScheme } from "@mantine/core";
import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import { memo, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { GAINS, KINDS, kindOf, type Kind } from "../candidates";
import type { CandidateSummary } from "../client";
import { ratio } from "../format";
import { lineage, tint, type Fold } from "../lineage";
import { inks } from "./Pills";
import { Empty } from "./States";
import { useFit } from "./useFit";

const COLUMN = 140;
const LEVEL = 86;
/** Room at the foot is the buttons'. */
const FIT = { maxZoom: 1.1, padding: { top: "20px", left: "20px", right: "20px", bottom: "52px" } } as const;
type CandidateNode = Node<{ candidate: CandidateSummary; kind: Kind; selected: boolean }, "candidate">;
type FoldNode = Node<{ fold: Fold }, "fold">;

interface Props {
  candidates: CandidateSummary[];
  bestId: string | null;
  selected: string | null;
  /** The job has ended. */
  over: boolean;
}

export default function CandidateTree({ candidates, bestId, selected, over }: Props) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const { place, setFlow } = useFit<CandidateNode | FoldNode>(FIT);
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const { nodes, edges, folded, levels } = useMemo(() => graph(candidates, bestId, selected, over, open), [candidates, bestId, selected, over, open]);
  if (candidates.length === 0) return <Empty title={over ? "No candidates" : "No candidates yet"} />;
  const click = (node: CandidateNode | FoldNode): void => {
    if (node.type === "fold") setOpen(new Set([...open, node.id.slice(FOLD.length)]));
    else void navigate(`/candidates/${node.id}`);
  };
  return (
    <>
      <div ref={place} style={{ height: Math.min(440, 120 + levels * LEVEL), border: "1px solid var(--mantine-color-default-border)", borderRadius: 8 }}>
        <ReactFlow
          // Each time a tree has doubled, look at all of it again.
          key={`${Math.floor(Math.log2(candidates.length))} ${open.size}`}
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          colorMode={scheme}
          fitView
          onInit={(flow) => setFlow(flow)}
          fitViewOptions={FIT}
          minZoom={0.05}
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          onNodeClick={(_, node) => click(node)}
          aria-label="Lineage of the candidates; the table lists the same"
        >
          <Background />
          <Controls showInteractive={false} orientation="horizontal" fitViewOptions={FIT} />
        </ReactFlow>
      </div>
      <Group gap="xs" mt={6} justify="space-between">
        <Text size="xs" className="quiet" component="div">
          {Object.values(GAINS).map(({ label, mark, ink }) => (
            <span key={label} className="legend" style={inks(ink)}>
              {mark} {label}
            </span>
          ))}
          the stronger, the further from the baseline
        </Text>
        {(folded > 0 || open.size > 0) && (
          <Button size="compact-xs" variant="default" onClick={() => setOpen(open.size > 0 ? new Set() : new Set(candidates.map((one) => one.id)))}>
            {open.size > 0 ? "Fold chains" : `Unfold ${folded} ${folded === 1 ? "chain" : "chains"}`}
          </Button>
        )}
      </Group>
    </>
  );
}

const FOLD = "fold ";

function graph(candidates: CandidateSummary[], bestId: string | null, selected: string | null, over: boolean, open: ReadonlySet<string>) {
  const kept = new Set([bestId, selected].filter((id): id is string => id !== null));
  const { placed, folds, edges } = lineage(candidates, kept, open);
  const nameOf = (id: string): string => (folds.has(id) ? FOLD + id : id);
  const nodes = placed.map(({ candidate, x, y }): CandidateNode | FoldNode => {
    const place = { position: { x: x * COLUMN, y: y * LEVEL }, width: 126, height: 54 };
    const fold = folds.get(candidate.id);
    if (fold) return { ...place, id: nameOf(candidate.id), type: "fold", data: { fold } };
    return { ...place, id: candidate.id, type: "candidate", data: { candidate, kind: kindOf(candidate, bestId, over), selected: candidate.id === selected } };
  });
  const drawn = edges.map(([source, target]): Edge => ({ id: `${source} ${target}`, source: nameOf(source), target: nameOf(target), type: "smoothstep" }));
  return { nodes, edges: drawn, folded: folds.size, levels: 1 + Math.max(0, ...placed.map((one) => one.y)) };
}

const Ends = () => (
  <>
    <Handle type="target" position={Position.Top} isConnectable={false} className="end" />
    <Handle type="source" position={Position.Bottom} isConnectable={false} className="end" />
  </>
);

const CandidateBox = memo(function CandidateBox({ data: { candidate, kind, selected } }: NodeProps<CandidateNode>) {
  const gain = tint(candidate);
  const colours = gain ? inks(GAINS[gain.gain].ink) : inks(kind);
  const fill = gain ? `color-mix(in srgb, var(--fill) ${Math.round(35 + gain.strength * 65)}%, var(--mantine-color-body))` : "var(--fill)";
  const ring = selected ? "3px solid var(--ink)" : kind === "best" ? "3px solid var(--best-ink)" : undefined;
  return (
    <div className="node" style={{ ...colours, background: fill, outline: ring, outlineOffset: 1 }} title={candidate.summary} data-gain={gain?.gain}>
      <b>
        {KINDS[kind].mark} {candidate.step + 1}
      </b>{" "}
      {KINDS[kind].label}
      <br />
      {gain && `${GAINS[gain.gain].mark} `}
      {candidate.speedup?.best_baseline ? ratio(candidate.speedup.best_baseline) : (candidate.failed_gate ?? "")}
      <Ends />
    </div>
  );
});

const FoldBox = memo(function FoldBox({ data: { fold } }: NodeProps<FoldNode>) {
  const [first, last] = [fold.members[0]!, fold.members.at(-1)!];
  const best = Math.max(...fold.members.map((one) => (one.verdict === "accepted" ? (one.speedup?.best_baseline ?? 0) : 0)));
  return (
    <div className="node folded" style={inks("pending")} title="Show these rounds" data-fold={fold.members.length}>
      <b>⋮ {fold.members.length} rounds</b>
      <br />
      {first.step + 1} to {last.step + 1}
      {best > 0 && `, ≤ ${ratio(best)}`}
      <Ends />
    </div>
  );
});

const TYPES = { candidate: CandidateBox, fold: FoldBox };
