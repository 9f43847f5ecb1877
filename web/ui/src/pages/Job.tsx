/** One job, live. */
import { Alert, Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, lazy, useMemo, useState } from "react";
import { Link, useParams } from "react-router";
import { ApiError } from "../api";
import type { CandidateSummary, JobView } from "../client";
import { between, ago, dollars, count, seconds } from "../format";
import type { LiveState } from "../live";
import { CandidateTable } from "../parts/CandidateTable";
import { Costs } from "../parts/Costs";
import { JobActions } from "../parts/JobActions";
import { Later } from "../parts/Later";
import { FINAL, StatusPill } from "../parts/Pills";
import { ResultCard } from "../parts/ResultCard";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { Timeline } from "../parts/Timeline";
import { useTitle } from "../parts/useTitle";
import { tell } from "../timeline";
import { useCandidates, useCosts, useJob, useLiveJob } from "../useJob";

const SpeedupChart = lazy(() => import("../parts/SpeedupChart"));
const RooflineChart = lazy(() => import("../parts/RooflineChart"));
const CandidateTree = lazy(() => import("../parts/CandidateTree"));

export function Component() {
  const { jobId = "" } = useParams();
  return <Page key={jobId} id={jobId} />;
}

function Page({ id }: { id: string }) {
  const job = useJob(id);
  const live = useLiveJob(id);
  useTitle(job.data ? `${job.data.problem}: ${job.data.status}` : "Job");
  const missing = job.error instanceof ApiError && [404, 410].includes(job.error.status);
  if (job.data && live.connection === "refused") return <Refused name={job.data.problem} reason={live.reason} />;
  if (job.data && (missing || live.connection === "gone")) return <Gone name={job.data.problem} reason={missing ? job.error!.message : live.reason} />;
  return <Asked query={job} page>{(known) => <Known job={known} live={live} />}</Asked>;
}

/** It was there when the page was opened. */
function Gone({ name, reason }: { name: string; reason: string | null }) {
  return (
    <Left name={name} title="This job is not there any more">
      It was deleted while you had it open{reason && `: ${reason}`}.
    </Left>
  );
}

/** Whoever has it open has lost the right to. */
function Refused({ name, reason }: { name: string; reason: string | null }) {
  return (
    <Left name={name} title="You may not see this job any more">
      The server refuses it{reason && `: ${reason}`}. Ask an administrator of the team, or sign in as somebody else.
    </Left>
  );
}

function Left({ name, title, children }: { name: string; title: string; children: ReactNode }) {
  return (
    <Stack>
      <Title order={1} size="h2" className="break">
        {name}
      </Title>
      <Alert color="red" variant="outline" title={title} role="alert">
        {children}{" "}
        <Anchor component={Link} to="/" underline="always">
          Back to the jobs
        </Anchor>
      </Alert>
    </Stack>
  );
}

const NONE: CandidateSummary[] = [];

function Known({ job, live }: { job: JobView; live: LiveState }) {
  const story = useMemo(() => tell(live.events), [live.events]);
  const candidates = useCandidates(job.id);
  const rows = candidates.data ?? NONE;
  const [view, setView] = useState<string | null>(null);
  const shown = { ...job, status: FINAL.has(job.status) ? job.status : ((story.status as JobView["status"]) ?? job.status) };
  return (
    <Stack gap="xl">
      <Head job={shown} live={live} />
      <ResultCard job={shown} candidates={rows} />
      <div style={{ display: "grid", gap: 24, gridTemplateColumns: "repeat(auto-fit, minmax(min(100%, 560px), 1fr))" }}>
        <Section title={`Candidates (${rows.length})`}>
          <Asked query={candidates}>
            {(all) =>
              all.length > 0 ? (
                <CandidateTable candidates={all} bestId={shown.best_candidate_id} selected={view} select={setView} />
              ) : (
                <Empty title={FINAL.has(shown.status) ? "No candidate was made" : "The first candidate is on its way"}>
                  {shown.message}
                </Empty>
              )
            }
          </Asked>
        </Section>
        <Section title="How they came from each other">
          <Later height={440}>
            <CandidateTree candidates={rows} bestId={shown.best_candidate_id} selected={view} />
          </Later>
        </Section>
        <Section title="Speedup over time">
          <Later height={340}>
            <SpeedupChart candidates={rows} />
          </Later>
        </Section>
        <Section title="Roofline">
          <Later height={340}>
            <RooflineChart candidates={rows} bestId={shown.best_candidate_id} validated={story.validated} />
          </Later>
        </Section>
        <CostsSection id={job.id} />
        <Section
          title="What the agents did"
          aside={
            <Anchor component={Link} to={`/jobs/${job.id}/trace`} size="sm" underline="always">
              Prompts and replies
            </Anchor>
          }
        >
          <Timeline story={story} />
        </Section>
      </div>
    </Stack>
  );
}

const CONNECTION: Record<LiveState["connection"], string> = {
  connecting: "connecting…",
  live: "● live",
  reconnecting: "connection lost, trying again…",
  polling: "● live (asking every second)",
  ended: "",
  gone: "",
  refused: "",
};

function Head({ job, live }: { job: JobView; live: LiveState }) {
  return (
    <Stack gap={6}>
      <Group justify="space-between" align="start" gap="sm">
        <Group gap="sm">
          <Title order={1} size="h2" className="break">
            {job.problem}
          </Title>
          <span role="status" aria-live="polite">
            <StatusPill status={job.status} />
          </span>
          <Text size="sm" className="quiet" data-connection={live.connection} data-seq={live.events.at(-1)?.seq ?? 0}>
            {CONNECTION[live.connection]}
          </Text>
        </Group>
        <JobActions job={job} />
      </Group>
      <Text size="sm" className="quiet break">
        {job.backend} on {job.device} · {job.model} · {job.strategy} · round {job.steps_done} of {job.budget.rounds} ·{" "}
        {job.started_at ? between(job.started_at, job.finished_at) : "not started"} · submitted {ago(job.created_at)} ·{" "}
        <span className="mono">{job.id}</span>
        {job.tags.length > 0 && ` · ${job.tags.join(", ")}`}
        {job.parent_id && (
          <>
            {" "}
            · part of <Link to={`/jobs/${job.parent_id}`}>{job.parent_id}</Link>
          </>
        )}
      </Text>
      {job.cancel_requested && !FINAL.has(job.status) && <Text size="sm">Cancelling: it stops within seconds.</Text>}
      {job.pause_requested && job.status === "running" && <Text size="sm">Pausing after this round.</Text>}
      {job.message && ["refused", "failed"].includes(job.status) && (
        <Alert variant="outline" color="red" className="break">
          {job.message}
        </Alert>
      )}
      {job.message && !["refused", "failed", "running"].includes(job.status) && (
        <Text size="sm" className="break">
          {job.status}: {job.message}
        </Text>
      )}
    </Stack>
  );
}

function CostsSection({ id }: { id: string }) {
  const costs = useCosts(id);
  const known = costs.data;
  return (
    <Section
      title="What it cost"
      aside={
        known && (
          <Text size="sm" className="quiet">
            {count(known.total.input_tokens! + known.total.output_tokens!)} tokens · {dollars(known.total.dollars)} · {seconds(known.device_s)} on the device
          </Text>
        )
      }
    >
      <Asked query={costs} rows={3}>
        {(all) => <Costs costs={all} />}
      </Asked>
    </Section>
  );
}
