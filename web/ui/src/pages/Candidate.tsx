/** One kernel: its text, what changed, and why its figure can be believed. */
import { Anchor, Button, Group, Menu, Select, Stack, Switch, Tabs, Text, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { lazy, useEffect, useRef, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { data, download, saveText } from "../api";
import { kindOf } from "../candidates";
import { getCandidate, getSpec, type CandidateSummary, type CandidateView, type GetBundleData, type JobView } from "../client";
import { micros, percent, ratio } from "../format";
import { Evidence } from "../parts/Evidence";
import { Figure } from "../parts/Figure";
import { Gates } from "../parts/Gates";
import { Later } from "../parts/Later";
import { MachineCode } from "../parts/MachineCode";
import { notify } from "../parts/notify";
import { FINAL, GainPill, KindPill } from "../parts/Pills";
import { Profile } from "../parts/Profile";
import { RatioNote } from "../parts/RatioNote";
import { SelfAttested } from "../parts/SelfAttested";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";
import { candidateQuery, useCandidates, useJob } from "../useJob";

const Code = lazy(() => import("../parts/Code"));
const Diff = lazy(() => import("../parts/Diff"));

export function Component() {
  const { candidateId = "" } = useParams();
  const candidate = useQuery({
    ...candidateQuery(candidateId),
    refetchInterval: (query) => (query.state.data && !query.state.data.report ? 1_500 : false),
  });
  return <Asked query={candidate} page what="candidate">{(known) => <Known key={known.id} candidate={known} />}</Asked>;
}

function Known({ candidate }: { candidate: CandidateView }) {
  const job = useJob(candidate.job_id);
  const [params, setParams] = useSearchParams();
  const tab = params.get("tab") ?? "source";
  useTitle(`Round ${candidate.step + 1} of ${job.data?.problem ?? "a job"}`);
  const tabs = useRef<HTMLDivElement>(null);
  // On a phone the row of tabs scrolls: the one that is open is in sight.
  useEffect(() => void tabs.current?.querySelector("[data-active]")?.scrollIntoView({ block: "nearest", inline: "center" }), [tab]);
  const { report } = candidate;
  const over = job.data !== undefined && FINAL.has(job.data.status);
  return (
    <Stack gap="lg">
      <Head candidate={candidate} job={job.data} />
      <Tabs value={tab} onChange={(next) => setParams(next && next !== "source" ? { tab: next } : {}, { replace: true })} keepMounted={false}>
        <Tabs.List mb="md" className="one-line" ref={tabs}>
          <Tabs.Tab value="source">Source</Tabs.Tab>
          <Tabs.Tab value="diff">Changes</Tabs.Tab>
          <Tabs.Tab value="gates">Gates</Tabs.Tab>
          <Tabs.Tab value="evidence">Why believe this number</Tabs.Tab>
          <Tabs.Tab value="profile">Profile</Tabs.Tab>
          <Tabs.Tab value="machine">Machine code</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="source">
          <Later height={400}>
            <Code text={candidate.source} label="Source of the candidate" />
          </Later>
        </Tabs.Panel>
        <Tabs.Panel value="diff">
          <Changes candidate={candidate} />
        </Tabs.Panel>
        <Tabs.Panel value="gates">{report ? <Gates report={report} /> : <Pending over={over} />}</Tabs.Panel>
        <Tabs.Panel value="evidence">{report ? <Evidence report={report} /> : <Pending over={over} />}</Tabs.Panel>
        <Tabs.Panel value="profile">{report ? <Profile candidate={candidate} report={report} /> : <Pending over={over} />}</Tabs.Panel>
        <Tabs.Panel value="machine">{report ? <MachineCode id={candidate.id} source={candidate.source} report={report} /> : <Pending over={over} />}</Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function Head({ candidate, job }: { candidate: CandidateView; job: JobView | undefined }) {
  const copy = (): void => void notify(navigator.clipboard.writeText(candidate.source), "Source copied");
  return (
    <Stack gap="sm">
      <Text size="sm">
        <Anchor component={Link} to={`/jobs/${candidate.job_id}`} underline="always" className="break">
          {job?.problem ?? candidate.job_id}
        </Anchor>
      </Text>
      <Group justify="space-between" align="start">
        <Group gap="sm">
          <Title order={1} size="h2">
            Round {candidate.step + 1}
          </Title>
          <KindPill kind={kindOf(candidate, job?.best_candidate_id ?? null, job !== undefined && FINAL.has(job.status))} />
          <GainPill gain={candidate.gain} />
        </Group>
        <Group gap="xs">
          <Button variant="default" onClick={copy}>
            Copy
          </Button>
          <Button variant="default" onClick={() => saveText(candidate.source, `${candidate.id}.py`)}>
            Download
          </Button>
          {job?.best_candidate_id === candidate.id && <Bundles jobId={job.id} />}
        </Group>
      </Group>
      <Text className="break">{candidate.summary}</Text>
      <Group gap="xl" className="figures">
        <Figure name="vs the fastest baseline">{ratio(candidate.speedup?.best_baseline)}</Figure>
        {candidate.speedup?.ci95 && (
          <Figure name="95 % interval">
            {ratio(candidate.speedup.ci95[0])} – {ratio(candidate.speedup.ci95[1])}
          </Figure>
        )}
        <Figure name="median latency">{micros(candidate.median_us)}</Figure>
        {candidate.roofline_fraction !== null && <Figure name={`of the roofline${candidate.input_sets > 1 ? " (first input set)" : ""}`}>{percent(candidate.roofline_fraction)}</Figure>}
        <Figure name="origin">{ORIGINS[candidate.origin] ?? candidate.origin}</Figure>
        <Figure name="backend">{candidate.backend}</Figure>
      </Group>
      <RatioNote measured={candidate} />
      <SelfAttested reason={candidate.self_attested} />
    </Stack>
  );
}

type ExportFormat = NonNullable<NonNullable<GetBundleData["query"]>["format"]>;
const FORMS: [ExportFormat, string][] = [
  ["package", "pip-installable package"],
  ["kernel-builder", "Hugging Face kernel-builder tree"],
  ["gpu-mode", "GPU MODE submission"],
];

/** The winner to take away: with all evidence, or in another tool's format. */
function Bundles({ jobId }: { jobId: string }) {
  const take = (form: ExportFormat): void => {
    const name = form === "bundle" ? jobId : `${jobId}-${form}`;
    void notify(download(`/api/v1/jobs/${jobId}/bundle?format=${form}`, `${name}.zip`));
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">Export as…</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {FORMS.map(([form, name]) => (
            <Menu.Item key={form} onClick={() => take(form)}>
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Button onClick={() => take("bundle")}>Evidence bundle</Button>
    </>
  );
}

/** How a candidate came about, where its own word for it says little. */
const ORIGINS: Record<string, string> = { confirmation: "re-measurement" };

function Pending({ over }: { over: boolean }) {
  if (over) return <Empty title="Not evaluated">The job ended before this candidate was evaluated.</Empty>;
  return <Empty title="Evaluating…">Results appear here automatically.</Empty>;
}

function Changes({ candidate }: { candidate: CandidateView }) {
  const [params, setParams] = useSearchParams();
  const siblings = useCandidates(candidate.job_id);
  const job = useJob(candidate.job_id);
  const best = job.data?.best_candidate_id ?? null;
  const against = params.get("against") ?? candidate.parent_id ?? "reference";
  const roomy = useMediaQuery("(min-width: 1100px)", true, { getInitialValueInEffect: false });
  const [split, setSplit] = useState<boolean | null>(null);
  const other = useQuery({ queryKey: ["against", candidate.job_id, against === "best" ? best : against], queryFn: () => textOf(candidate.job_id, against === "best" && best ? best : against), enabled: against !== "best" || best !== null });
  const options = [
    { value: "reference", label: "Reference" },
    ...(best && best !== candidate.id ? [{ value: "best", label: "Best kernel of the job" }] : []),
    ...(siblings.data ?? [])
      .filter((one) => one.id !== candidate.id)
      .map((one) => ({
        value: one.id,
        label: `Round ${one.step + 1}${one.id === candidate.parent_id ? " (parent)" : ""}${one.verdict ? `, ${one.verdict}` : ""}`,
      })),
  ];
  return (
    <Stack>
      <Group align="end">
        <Select
          label="Compare with"
          data={options}
          value={against}
          onChange={(next) => next && setParams({ tab: "diff", against: next }, { replace: true })}
          searchable
          allowDeselect={false}
          w={{ base: "100%", xs: 300 }}
        />
        <Switch label="Side by side" checked={split ?? roomy ?? false} onChange={(event) => setSplit(event.currentTarget.checked)} mb={8} />
      </Group>
      <Asked query={other} what="source">
        {(before) =>
          before === candidate.source ? (
            <Same candidate={candidate} other={siblings.data?.find((one) => one.id === against)} />
          ) : (
            <Later height={400}>
              <Diff before={before} after={candidate.source} label="Changes" split={split ?? roomy ?? false} />
            </Later>
          )
        }
      </Asked>
    </Stack>
  );
}

/** No text differs: for a kernel that was measured again, what did change it is its parent's diff. */
function Same({ candidate, other }: { candidate: CandidateView; other: CandidateSummary | undefined }) {
  if (candidate.origin !== "confirmation" || !other || other.id !== candidate.parent_id) return <Empty title="No changes" />;
  return (
    <Empty title={`No changes: round ${candidate.step + 1} re-measures the kernel of round ${other.step + 1}`}>
      <Anchor component={Link} to={`/candidates/${other.id}?tab=diff`} underline="always">
        Changes of round {other.step + 1}
      </Anchor>
    </Empty>
  );
}

async function textOf(jobId: string, against: string): Promise<string> {
  if (against === "reference") return (await data(getSpec({ path: { job_id: jobId } }))).problem.source;
  return (await data(getCandidate({ path: { candidate_id: against } }))).source;
}
