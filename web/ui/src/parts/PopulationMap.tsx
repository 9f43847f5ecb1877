/** Where a search that keeps more than its best has its candidates: islands, or cells of kernels that behave alike. */
import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { data } from "../api";
import { GAINS } from "../candidates";
import { getPopulation, type CandidateSummary, type PopulationMember, type Population } from "../client";
import { ratio } from "../format";
import { PARALLEL, STAGINGS, tint } from "../lineage";
import { inks } from "./Pills";
import { Asked, Empty } from "./States";

interface Props {
  jobId: string;
  candidates: CandidateSummary[];
  bestId: string | null;
}

export function PopulationMap({ jobId, candidates, bestId }: Props) {
  const judged = candidates.filter((one) => one.verdict === "accepted").length;
  const found = useQuery({ queryKey: ["job", jobId, "population", judged], queryFn: () => data(getPopulation({ path: { job_id: jobId } })), placeholderData: (before) => before });
  const known = new Map(candidates.map((one) => [one.id, one]));
  return (
    <Asked query={found} rows={4}>
      {(all) => (all.members.length === 0 ? <Empty title="No accepted candidate yet" /> : all.islands > 0 ? <Islands all={all} known={known} bestId={bestId} /> : <Archive all={all} known={known} bestId={bestId} />)}
    </Asked>
  );
}

interface Shown {
  all: Population;
  known: ReadonlyMap<string, CandidateSummary>;
  bestId: string | null;
}

function Tile({ member, candidate, best }: { member: PopulationMember; candidate: CandidateSummary | undefined; best: boolean }) {
  const gain = candidate ? tint(candidate) : null;
  return (
    <Anchor component={Link} to={`/candidates/${member.candidate_id}`} className="pill tile" style={{ ...inks(gain ? GAINS[gain.gain].ink : "pending"), outline: best ? "2px solid var(--best-ink)" : undefined }} title={`${member.traffic}, ${member.parallelism}, ${member.staging}, ${member.size}`}>
      <span aria-hidden="true">{best ? "★" : gain ? GAINS[gain.gain].mark : ""}</span>
      {member.step + 1}: {ratio(candidate?.speedup?.best_baseline)}
    </Anchor>
  );
}

const fastestFirst = (known: Shown["known"]) => (a: PopulationMember, b: PopulationMember): number =>
  (known.get(b.candidate_id)?.speedup?.best_baseline ?? 0) - (known.get(a.candidate_id)?.speedup?.best_baseline ?? 0);

function Islands({ all, known, bestId }: Shown) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Islands">
      <table className="rows">
        <thead>
          <tr>
            {Array.from({ length: all.islands }, (_, island) => (
              <th key={island}>Island {island + 1}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            {Array.from({ length: all.islands }, (_, island) => (
              <td key={island} style={{ verticalAlign: "top" }}>
                {all.members
                  .filter((one) => one.island === island)
                  .sort(fastestFirst(known))
                  .map((one) => (
                    <div key={one.candidate_id} style={{ marginBottom: 4 }}>
                      <Tile member={one} candidate={known.get(one.candidate_id)} best={one.candidate_id === bestId} />
                    </div>
                  ))}
                {all.members.every((one) => one.island !== island) && <span className="quiet">nothing accepted yet</span>}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function Archive({ all, known, bestId }: Shown) {
  const elites = all.members.filter((one) => one.elite);
  const rows = STAGINGS.filter((staging) => elites.some((one) => one.staging === staging));
  const at = (staging: string, parallelism: string): PopulationMember[] => elites.filter((one) => one.staging === staging && one.parallelism === parallelism).sort(fastestFirst(known));
  return (
    <>
      <div className="scroll-x" tabIndex={0} role="region" aria-label="Archive by behaviour">
        <table className="rows archive">
          <thead>
            <tr>
              <th>Staging \ parallelism</th>
              {PARALLEL.map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((staging) => (
              <tr key={staging}>
                <th scope="row">{staging}</th>
                {PARALLEL.map((parallelism) => (
                  <td key={parallelism}>
                    {at(staging, parallelism).map((one) => (
                      <div key={one.candidate_id}>
                        <Tile member={one} candidate={known.get(one.candidate_id)} best={one.candidate_id === bestId} /> <span className="quiet">{one.traffic}, {one.size}</span>
                      </div>
                    ))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Text size="xs" className="quiet" mt={6}>
        The fastest kernel of each of {elites.length} {elites.length === 1 ? "behaviour" : "behaviours"}, of {all.members.length} accepted; any of them may be a parent.
      </Text>
    </>
  );
}
