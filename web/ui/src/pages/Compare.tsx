/** Several jobs side by side: their progress, their results with intervals, and what differs between them. */
import { Anchor, Stack, Switch, Text, Title } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { lazy, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { data, items } from "../api";
import { getCosts, getJob, listCandidates, type JobCosts, type JobView } from "../client";
import { between, count, dollars, ratio, seconds } from "../format";
import { Intervals } from "../parts/Intervals";
import { Later } from "../parts/Later";
import { Section } from "../parts/Section";
import { Failure, Empty, Loading } from "../parts/States";
import { useTitle } from "../parts/useTitle";
import { candidatesKey, costsKey, jobKey } from "../useJob";

const CompareChart = lazy(() => import("../parts/CompareChart"));

interface Compared {
  job: JobView;
  costs: JobCosts;
}

const LINES: [string, (one: Compared) => string][] = [
  ["Problem", ({ job }) => job.problem],
  ["Status", ({ job }) => job.status.replace("_", " ")],
  ["Speedup (fastest baseline)", ({ job }) => ratio(job.best_speedup)],
  ["Family", ({ job }) => job.analysis?.family ?? "–"],
  ["Backend", ({ job }) => job.backend],
  ["Device", ({ job }) => job.device],
  ["Model", ({ job }) => job.model],
  ["Strategy", ({ job }) => job.strategy],
  ["Baselines", ({ job }) => job.baselines.join(", ")],
  ["Rounds done", ({ job }) => String(job.steps_done)],
  ["Round limit", ({ job }) => String(job.budget.rounds)],
  ["Time limit (s)", ({ job }) => String(job.budget.wall_s ?? "no limit")],
  ["Cost limit ($)", ({ job }) => String(job.budget.dollars ?? "no limit")],
  ["Seed", ({ job }) => String(job.seed)],
  ["Tags", ({ job }) => job.tags.join(", ") || "–"],
  ["Duration", ({ job }) => between(job.started_at, job.finished_at)],
  ["Device time", ({ costs }) => seconds(costs.device_s)],
  ["Tokens", ({ costs }) => count((costs.total.input_tokens ?? 0) + (costs.total.output_tokens ?? 0))],
  ["Price", ({ costs }) => dollars(costs.total.dollars)],
];

export function Component() {
  useTitle("Compare");
  const [params] = useSearchParams();
  const ids = [...new Set(params.getAll("job"))].slice(0, 12);
  const [all, setAll] = useState(false);
  const jobs = useQueries({ queries: ids.map((id) => ({ queryKey: jobKey(id), queryFn: () => data(getJob({ path: { job_id: id } })) })) });
  const costs = useQueries({ queries: ids.map((id) => ({ queryKey: costsKey(id), queryFn: () => data(getCosts({ path: { job_id: id } })) })) });
  const candidates = useQueries({ queries: ids.map((id) => ({ queryKey: candidatesKey(id), queryFn: () => items(listCandidates({ path: { job_id: id } })) })) });
  const failed = [...jobs, ...costs].find((query) => query.error);
  const compared = jobs.flatMap((job, index): Compared[] => {
    const cost = costs[index]?.data;
    return job.data && cost ? [{ job: job.data, costs: cost }] : [];
  });
  const curves = useMemo(
    () => compared.flatMap(({ job }, index) => (candidates[index]?.data ? [{ id: job.id, name: nameOf(job, compared), candidates: candidates[index].data }] : [])),
    // Queries are new objects at each render; what they hold is not.
    [compared.map(({ job }) => job.id).join(), candidates.map((one) => one.dataUpdatedAt).join()],
  );
  const differing = LINES.filter(([, tell]) => new Set(compared.map(tell)).size > 1);
  return (
    <Stack>
      <Title order={1} size="h2">
        Compare
      </Title>
      {ids.length < 2 && (
        <Empty title="Select at least two jobs">
          <Anchor component={Link} to="/" underline="always">
            Back to jobs
          </Anchor>
        </Empty>
      )}
      {failed && <Failure error={failed.error} what="jobs" />}
      {!failed && compared.length < ids.length && <Loading />}
      {ids.length >= 2 && compared.length === ids.length && (
        <>
          <Section title="Progress">
            <Later height={390}>
              <CompareChart curves={curves} />
            </Later>
          </Section>
          <Section title="Results">
            <Intervals jobs={compared.map(({ job }) => job)} />
          </Section>
          <Switch label="Show identical rows" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          <Table compared={compared} lines={all ? LINES : differing} />
          {!all && differing.length === 0 && <Text>No differences.</Text>}
        </>
      )}
    </Stack>
  );
}

/** Short, and different from the others': the problem, or what the jobs of one problem differ in. */
function nameOf(job: JobView, compared: readonly Compared[]): string {
  const alike = compared.filter((one) => one.job.problem === job.problem);
  if (alike.length === 1) return job.problem;
  return `${job.problem}, ${job.strategy}, ${job.model} (…${job.id.slice(-4)})`;
}

function Table({ compared, lines }: { compared: Compared[]; lines: typeof LINES }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Comparison">
      <table className="rows">
        <thead>
          <tr>
            <th>Property</th>
            {compared.map(({ job }) => (
              <th key={job.id}>
                <Anchor component={Link} to={`/jobs/${job.id}`} data-row underline="always">
                  {job.id}
                </Anchor>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, tell]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {compared.map((one) => (
                <td key={one.job.id} className="break">
                  {tell(one)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
