/** One job, live. */
import { Alert, Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, lazy, useEffect, useMemo, useReducer, useState } from "react";
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
import { PopulationMap } from "../parts/PopulationMap";
import { RatiosNote } from "../parts/RatioNote";
import { ResultCard } from "../parts/ResultCard";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { Timeline } from "../parts/Timeline";
import { useTitle } from "../parts/useTitle";
import { sweepOf } from "../sweep";
import { tell } from "../timeline";
import { useCandidate, useCandidates, useCosts, useJob, useLiveJob } from "../useJob";

const SpeedupChart = lazy(() => import("../parts/SpeedupChart"));
const RooflineChart = lazy(() => import("../parts/RooflineChart"));
const SweepChart = lazy(() => import("../parts/SweepChart"));
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
  return <Asked query={job} page what="job">{(known) => <Known job={known} live={live} />}</Asked>;
}

/** It was there when the page was opened. */
function Gone({ name, reason }: { name: string; reason: string | null }) {
  return (
    <Left name={name} title="Job deleted">
      This job was deleted while you had it open{reason && `: ${reason}`}.
    </Left>
  );
}

/** Whoever has it open has lost the right to. */
function Refused({ name, reason }: { name: string; reason: string | null }) {
  return (
    <Left name={name} title="Access denied">
      You no longer have access to this job{reason && `: ${reason}`}. Ask an admin of the team, or sign in with another account.
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
          Back to jobs
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
  const over = FINAL.has(job.status) || FINAL.has(story.status as JobView["status"]);
  const shown = { ...job, status: FINAL.has(job.status) ? job.status : ((story.status as JobView["status"]) ?? job.status) };
  return (
    <Stack gap="xl">
      <Head job={shown} live={live} startedAt={story.startedAt} drafts={rows.filter((one) => one.origin === "compiler" && one.step < shown.steps_done).length} />
      <ResultCard job={shown} candidates={rows} />
      <div className="panels">
        <Section wide title={`Candidates (${rows.length})`}>
          <Asked query={candidates}>
            {(all) =>
              all.length > 0 ? (
                <CandidateTable candidates={all} bestId={shown.best_candidate_id} selected={view} select={setView} over={over} />
              ) : (
                <Empty title={over ? "No candidates" : "Waiting for the first candidate"} />
              )
            }
          </Asked>
        </Section>
        {!(over && rows.length === 0) && (
          <>
            <Section title="Lineage">
              <Later height={440}>
                <CandidateTree candidates={rows} bestId={shown.best_candidate_id} selected={view} over={over} />
              </Later>
            </Section>
            <Section title="Speedup over time">
              <Later height={340}>
                <SpeedupChart candidates={rows} over={over} />
              </Later>
            </Section>
            <Section title="Roofline">
              <Later height={340}>
                <RooflineChart candidates={rows} bestId={shown.best_candidate_id} validated={story.validated} over={over} />
              </Later>
            </Section>
            <Sweep bestId={shown.best_candidate_id} />
            <CostsSection id={job.id} />
            {["islands", "map_elites"].includes(job.strategy) && (
              <Section wide title={job.strategy === "islands" ? "Islands" : "Archive"}>
                <PopulationMap jobId={job.id} candidates={rows} bestId={shown.best_candidate_id} />
              </Section>
            )}
          </>
        )}
        <Section
          rest
          title="Agent activity"
          aside={
            <Anchor component={Link} to={`/jobs/${job.id}/trace`} size="sm" underline="always">
              Trace
            </Anchor>
          }
        >
          <Timeline story={story} over={over} />
          <RatiosNote measured={rows} />
        </Section>
      </div>
    </Stack>
  );
}

/** The best kernel over its input sets; nothing where there is one only. */
function Sweep({ bestId }: { bestId: string | null | undefined }) {
  const report = useCandidate(bestId).data?.report;
  if (!report || sweepOf(report).latency.length < 2) return null;
  return (
    <Section title="By shape">
      <Later height={340}>
        <SweepChart report={report} />
      </Later>
    </Section>
  );
}

const CONNECTION: Record<LiveState["connection"], string> = {
  connecting: "connecting…",
  live: "● live",
  reconnecting: "connection lost, reconnecting…",
  polling: "● live (polling every second)",
  ended: "",
  gone: "",
  refused: "",
};

/** `drafts`: kernels of the compiler, whose rounds the budget is not charged for. */
function Head({ job, live, startedAt, drafts }: { job: JobView; live: LiveState; startedAt: string | null; drafts: number }) {
  return (
    <Stack gap={6}>
      <Group justify="space-between" align="start" gap="sm">
        <Group gap="sm">
          <Title order={1} size="h2" className="break">
            {job.problem}
          </Title>
          <span role="status" aria-live="polite">
            <StatusPill status={job.status} gain={job.best_gain} />
          </span>
          <Text size="sm" className="quiet" data-connection={live.connection} data-seq={live.events.at(-1)?.seq ?? 0}>
            {CONNECTION[live.connection]}
          </Text>
        </Group>
        <JobActions job={job} />
      </Group>
      <Text size="sm" className="quiet break">
        {job.backend} on {job.device} · {job.model} · {job.strategy} · round {job.steps_done - drafts} of {job.budget.rounds}
        {drafts > 0 && ", besides the compiler’s kernel"} ·{" "}
        <Elapsed from={job.started_at ?? startedAt} to={job.finished_at} over={FINAL.has(job.status)} /> · submitted {ago(job.created_at)} ·{" "}
        <span className="mono">{job.id}</span>
        {job.tags.length > 0 && ` · ${job.tags.join(", ")}`}
        {job.parent_id && (
          <>
            {" "}
            · part of <Link to={`/jobs/${job.parent_id}`}>{job.parent_id}</Link>
          </>
        )}
      </Text>
      {job.cancel_requested && !FINAL.has(job.status) && <Text size="sm">Cancellation requested; the job stops within seconds.</Text>}
      {job.pause_requested && job.status === "running" && <Text size="sm">Pausing after this round.</Text>}
      {job.message && ["refused", "failed"].includes(job.status) && (
        <Alert variant="outline" color="red" className="break">
          {job.message}
        </Alert>
      )}
      {job.message && !["refused", "failed", "running"].includes(job.status) && (
        <Text size="sm" className="break">
          {capitalised(job.message)}
        </Text>
      )}
    </Stack>
  );
}

/** Time since the start, counted on while the job goes on. */
function Elapsed({ from, to, over }: { from: string | null; to: string | null; over: boolean }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  const runs = from !== null && to === null && !over;
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(tick, 1_000);
    return () => clearInterval(timer);
  }, [runs]);
  return <span data-elapsed>{from ? between(from, to) : "not started"}</span>;
}

const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

function CostsSection({ id }: { id: string }) {
  const costs = useCosts(id);
  const known = costs.data;
  return (
    <Section
      title="Cost"
      aside={
        known && (
          <Text size="sm" className="quiet">
            {count(known.total.input_tokens! + known.total.output_tokens!)} tokens · {dollars(known.total.dollars)} · {seconds(known.device_s)} device time
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
