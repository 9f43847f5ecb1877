/** The answer: how much faster, how sure, and where to take it. */
import { Button, Card, Group, Text } from "@mantine/core";
import { Link } from "react-router";
import { download } from "../api";
import type { CandidateSummary, JobView } from "../client";
import { micros, ratio } from "../format";
import { Figure } from "./Figure";
import { NAMES } from "../ratios";
import { GainPill } from "./Pills";
import { RatioNote } from "./RatioNote";
import { SelfAttested } from "./SelfAttested";
import { notify } from "./notify";

export function ResultCard({ job, candidates }: { job: JobView; candidates: CandidateSummary[] }) {
  const best = candidates.find((one) => one.id === job.best_candidate_id);
  if (!best) return null;
  const { speedup } = best;
  return (
    <Card withBorder padding="lg" component="section" aria-label="Best kernel">
      <Group justify="space-between" align="start" gap="sm">
        <Group gap="sm" align="center" className="figures">
          <Figure big name="vs the fastest baseline">
            {ratio(speedup?.best_baseline)}
          </Figure>
          <GainPill gain={best.gain} />
        </Group>
        <Group gap="xs">
          <Button component={Link} to={`/candidates/${best.id}`} data-best>
            View kernel
          </Button>
          <Button variant="default" onClick={() => void notify(download(`/api/v1/jobs/${job.id}/bundle`, `${job.id}.zip`))}>
            Bundle
          </Button>
        </Group>
      </Group>
      <Group gap="xl" className="figures" mt="sm">
        {speedup?.ci95 && (
          <Figure name="95 % interval">
            {ratio(speedup.ci95[0])} – {ratio(speedup.ci95[1])}
          </Figure>
        )}
        {speedup?.eager != null && <Figure name="vs eager">{ratio(speedup.eager)}</Figure>}
        {speedup?.compile != null && <Figure name="vs torch.compile">{ratio(speedup.compile)}</Figure>}
        {speedup?.compile_max != null && <Figure name={`vs ${NAMES.compile_max}`}>{ratio(speedup.compile_max)}</Figure>}
        {speedup?.seed != null && (
          <Figure name="vs the seed">
            {ratio(speedup.seed)}
            {speedup.seed_ci95 && ` (${ratio(speedup.seed_ci95[0])} – ${ratio(speedup.seed_ci95[1])})`}
          </Figure>
        )}
        <Figure name="median latency">{micros(best.median_us)}</Figure>
        {Object.entries(best.baselines_us ?? {}).map(([name, median]) => (
          <Figure key={name} name={`${NAMES[name] ?? name} median`}>
            {micros(median)}
          </Figure>
        ))}
      </Group>
      <Text size="sm" className="quiet break" mt="sm">
        Round {best.step + 1}: {best.summary}
      </Text>
      <RatioNote measured={best} />
      <SelfAttested reason={best.self_attested} />
    </Card>
  );
}
