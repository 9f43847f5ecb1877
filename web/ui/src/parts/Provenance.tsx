/** Where an experience comes from and what it led to, as a graph and as a table that keyboards and screen readers follow. */
import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy } from "react";
import { Link } from "react-router";
import { data } from "../api";
import { getProvenance, type ProvenanceView } from "../client";
import { ratio } from "../format";
import { addressOf, nameOf, rowsOf } from "../provenance";
import { Later } from "./Later";
import { Asked, Empty } from "./States";

const ProvenanceGraph = lazy(() => import("./ProvenanceGraph"));

export function Provenance({ id }: { id: string }) {
  const found = useQuery({ queryKey: ["experience", id, "provenance"], queryFn: () => data(getProvenance({ path: { experience_id: id } })) });
  return (
    <Asked query={found}>
      {(known) =>
        known.nodes.length === 1 ? (
          <Empty title="No lineage yet">No kernel led to this experience or used it.</Empty>
        ) : (
          <Stack>
            <Later height={440}>
              <ProvenanceGraph found={known} focus={id} />
            </Later>
            <Text size="sm" className="quiet">
              Causes are on the left. Dashed: in the kernel's context. Solid: learned from the kernel, or used as its starting point. Dotted: kernel of the job.
              {known.cut && " Not all of it is shown; follow a link for more."}
            </Text>
            <details>
              <summary>Show as table ({known.nodes.length} rows)</summary>
              <Things found={known} focus={id} />
            </details>
          </Stack>
        )
      }
    </Asked>
  );
}

function Things({ found, focus }: { found: ProvenanceView; focus: string }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Provenance as a table" style={{ maxHeight: 440, overflowY: "auto" }}>
      <table className="rows">
        <thead>
          <tr>
            <th>Name</th>
            <th>Kind</th>
            <th>Verdict</th>
            <th className="figure">Speedup</th>
            <th>Relations</th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(found.nodes, found.edges).map(({ node, ties }) => (
            <tr key={node.id} aria-current={node.id === focus ? "true" : undefined}>
              <td className="break" style={{ minWidth: 200 }}>
                {node.id === focus ? (
                  <b>{nameOf(node)}</b>
                ) : (
                  <Anchor component={Link} to={addressOf(node)} underline="always" size="sm">
                    {nameOf(node)}
                  </Anchor>
                )}
                {node.retracted && " (retracted)"}
              </td>
              <td>{node.kind === "candidate" ? "kernel" : node.kind}</td>
              <td>{node.verdict ?? "–"}</td>
              <td className="figure">{ratio(node.speedup)}</td>
              <td className="break" style={{ minWidth: 240 }}>
                {ties.map(({ words, names }) => (
                  <div key={words}>
                    {words} {names.join(", ")}
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
