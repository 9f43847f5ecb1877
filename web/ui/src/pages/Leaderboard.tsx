/** Jobs ranked problem by problem; of one tag, a suite with its progress, per family, and beside another run. */
import { Anchor, Group, Select, Stack, Text, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import type { JobView } from "../client";
import { ago, NOTHING, percent, ratio } from "../format";
import { byFamily, compared, leaderboard, summarised, type Place, type Summary } from "../leaderboard";
import { Figure } from "../parts/Figure";
import { GainMark } from "../parts/Pills";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";
import { useJobs } from "../useJobs";

const SHOWN = 5;

export function Component() {
  useTitle("Leaderboard");
  const [params, setParams] = useSearchParams();
  const [tag, beside] = [params.get("tag"), params.get("beside")];
  const { newest, rows, more } = useJobs({ q: "", status: [], tag: [] }, true);
  const tags = useMemo(() => [...new Set((rows ?? []).flatMap((job) => job.tags))].sort(), [rows]);
  const set = (name: string, value: string | null): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return (
    <Stack gap="lg">
      <Title order={1} size="h2">
        Leaderboard
      </Title>
      <Asked query={{ ...newest, data: rows }} what="jobs">
        {(all) => (
          <>
            <Group align="end">
              <Select label="Suite (tag)" data={[...new Set([...tags, ...(tag ? [tag] : [])])]} value={tag} onChange={(value) => set("tag", value)} clearable searchable placeholder="all jobs" clearButtonProps={{ "aria-label": "All jobs" }} />
              {tag && <Select label="Compare with" data={tags.filter((one) => one !== tag)} value={beside} onChange={(value) => set("beside", value)} clearable searchable placeholder="nothing" clearButtonProps={{ "aria-label": "Compare with nothing" }} />}
              <Text size="sm" className="quiet" role="status" mb={8}>
                {all.length.toLocaleString("en")} jobs{more && ", loading older ones…"}
              </Text>
            </Group>
            <Board jobs={tag ? all.filter((job) => job.tags.includes(tag)) : all} tag={tag} beside={tag && beside ? { tag: beside, jobs: all.filter((job) => job.tags.includes(beside)) } : null} />
          </>
        )}
      </Asked>
    </Stack>
  );
}

function Board({ jobs, tag, beside }: { jobs: JobView[]; tag: string | null; beside: { tag: string; jobs: JobView[] } | null }) {
  if (jobs.length === 0) return <Empty title={tag ? `No jobs with the tag ${tag}` : "No jobs yet"} />;
  const sum = summarised(jobs);
  return (
    <>
      <Group gap="xl" className="figures">
        <Figure name="ended">
          {sum.ended} / {sum.total}
        </Figure>
        <Figure name="with a correct kernel">{sum.correct}</Figure>
        <Figure name="surely faster">{sum.faster}</Figure>
        <Figure name="geometric mean">{ratio(sum.mean)}</Figure>
      </Group>
      <div className="bar" role="progressbar" aria-label="Jobs ended" aria-valuemin={0} aria-valuemax={sum.total} aria-valuenow={sum.ended}>
        <span style={{ width: `${(sum.ended / sum.total) * 100}%` }} />
      </div>
      {beside && <Beside tag={tag!} jobs={jobs} beside={beside} />}
      <Section title="By family">
        <Families jobs={jobs} />
      </Section>
      <Section title="By problem" aside={<Text size="sm" className="quiet">ranked by the lower end of the interval</Text>}>
        <Places places={leaderboard(jobs)} />
      </Section>
    </>
  );
}

function Families({ jobs }: { jobs: JobView[] }) {
  const share = (one: Summary): string => `${one.faster} (${percent(one.faster / one.total)})`;
  return (
    <Rows label="Results by family" most={760}>
        <thead>
          <tr>
            <th>Family</th>
            <th className="figure">Ended</th>
            <th className="figure">Correct</th>
            <th className="figure">Surely faster</th>
            <th className="figure">Geometric mean</th>
          </tr>
        </thead>
        <tbody>
          {byFamily(jobs).map(([name, one]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="figure">
                {one.ended} / {one.total}
              </td>
              <td className="figure">{one.correct}</td>
              <td className="figure">{share(one)}</td>
              <td className="figure">{ratio(one.mean)}</td>
            </tr>
          ))}
        </tbody>
    </Rows>
  );
}

function Places({ places }: { places: Place[] }) {
  const phone = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  if (phone) return <PlacesListed places={places} />;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Results by problem">
      <table className="rows">
        <thead>
          <tr>
            <th>Problem</th>
            <th className="figure">Place</th>
            <th className="figure">Speedup</th>
            <th className="figure">95 % interval</th>
            <th>Job</th>
            <th>Model</th>
            <th>Strategy</th>
            <th>Backend</th>
            <th>Submitted</th>
          </tr>
        </thead>
        <tbody>
          {places.map((place) => (
            <Ranked key={`${place.problem}/${place.device}`} place={place} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** On a phone: a problem, and below it a line for each of its jobs. */
function PlacesListed({ places }: { places: Place[] }) {
  return (
    <Stack gap="md" role="list" aria-label="Results by problem">
      {places.map(({ problem, device, ranked, jobs }) => (
        <div key={`${problem}/${device}`} role="listitem">
          <Text fw={650} className="break">
            {problem}{" "}
            <Text span size="xs" className="quiet" fw={400}>
              {device}, {jobs} {jobs === 1 ? "job" : "jobs"}
            </Text>
          </Text>
          {ranked.length === 0 && <Text size="sm">no correct kernel</Text>}
          {ranked.slice(0, SHOWN).map((job, index) => (
            <Group key={job.id} gap="xs" justify="space-between" wrap="nowrap">
              <Anchor component={Link} to={`/jobs/${job.id}`} data-row size="sm" underline="always" truncate display="block" py={4}>
                {index + 1}. {job.model}, {job.strategy}
              </Anchor>
              <Text size="sm" style={{ whiteSpace: "nowrap" }}>
                <GainMark gain={job.best_gain} />
                <b>{ratio(job.best_speedup)}</b> {job.best_ci95 && `${ratio(job.best_ci95[0])} – ${ratio(job.best_ci95[1])}`}
              </Text>
            </Group>
          ))}
        </div>
      ))}
    </Stack>
  );
}

function Ranked({ place: { problem, device, ranked, jobs } }: { place: Place }) {
  const shown = ranked.slice(0, SHOWN);
  const head = (
    <th scope="rowgroup" rowSpan={Math.max(1, shown.length)} style={{ verticalAlign: "top", color: "inherit" }} className="break">
      {problem}
      <Text size="xs" className="quiet" fw={400}>
        {device}, {jobs} {jobs === 1 ? "job" : "jobs"}
      </Text>
    </th>
  );
  if (shown.length === 0)
    return (
      <tr>
        {head}
        <td colSpan={8}>no correct kernel</td>
      </tr>
    );
  return shown.map((job, index) => (
    <tr key={job.id}>
      {index === 0 && head}
      <td className="figure">{index + 1}</td>
      <td className="figure">
        <GainMark gain={job.best_gain} />
        <b>{ratio(job.best_speedup)}</b>
      </td>
      <td className="figure">{job.best_ci95 ? `${ratio(job.best_ci95[0])} – ${ratio(job.best_ci95[1])}` : NOTHING}</td>
      <td>
        <Anchor component={Link} to={`/jobs/${job.id}`} data-row size="sm" underline="always">
          {job.id}
        </Anchor>
      </td>
      <td className="break">{job.model}</td>
      <td>{job.strategy}</td>
      <td>{job.backend}</td>
      <td style={{ whiteSpace: "nowrap" }}>{ago(job.created_at)}</td>
    </tr>
  ));
}

function Beside({ tag, jobs, beside }: { tag: string; jobs: JobView[]; beside: { tag: string; jobs: JobView[] } }) {
  const pairs = compared(jobs, beside.jobs);
  const link = (job: JobView | null) =>
    job ? (
      <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" underline="always">
        {ratio(job.best_speedup)}
      </Anchor>
    ) : (
      NOTHING
    );
  return (
    <Section title={`${tag} beside ${beside.tag}`}>
      <div className="scroll-x" tabIndex={0} role="region" aria-label="Two suites compared">
        <table className="rows" style={{ maxWidth: 860 }}>
          <thead>
            <tr>
              <th>Problem</th>
              <th className="figure">{tag}</th>
              <th className="figure">{beside.tag}</th>
              <th className="figure">Ratio</th>
              <th>Difference</th>
            </tr>
          </thead>
          <tbody>
            {pairs.map(({ problem, device, one, other, change, sure }) => (
              <tr key={`${problem}/${device}`}>
                <td className="break">
                  {problem} <span className="quiet">{device}</span>
                </td>
                <td className="figure">{link(one)}</td>
                <td className="figure">{link(other)}</td>
                <td className="figure">{ratio(change)}</td>
                <td>{change === null ? NOTHING : sure ? (change > 1 ? "▲ faster" : "▼ slower") : "≈ within noise"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
