/** All jobs, newest first; search and filters live in the address. */
import { Alert, Anchor, Button, Checkbox, Group, MultiSelect, Stack, TagsInput, Text, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { data } from "../api";
import { listJobs, type JobStatus, type JobView } from "../client";
import { ago, between, ratio } from "../format";
import { GainMark, FINAL, STATUSES, StatusPill } from "../parts/Pills";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

export function Component() {
  useTitle("Jobs");
  const [params, setParams] = useSearchParams();
  const query = {
    q: params.get("q") ?? "",
    status: params.getAll("status") as JobStatus[],
    tag: params.getAll("tag"),
  };
  const [chosen, setChosen] = useState<string[]>([]);
  const jobs = useInfiniteQuery({
    queryKey: ["jobs", query],
    queryFn: ({ pageParam }) => data(listJobs({ query: { ...query, limit: 50, cursor: pageParam } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: (found) => (found.state.data?.pages[0]?.jobs.some((job) => !FINAL.has(job.status)) ? 1_500 : 5_000),
  });
  const set = (name: string, values: string[]): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        next.delete(name);
        values.filter(Boolean).forEach((value) => next.append(name, value));
        return next;
      },
      { replace: true },
    );
  const filtered = query.q !== "" || query.status.length + query.tag.length > 0;
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1} size="h2">
          Jobs
        </Title>
        <Group gap="xs">
          {chosen.length < 2 ? (
            <Button variant="default" disabled title="Select at least two jobs">
              Compare
            </Button>
          ) : (
            <Button variant="default" component={Link} to={`/compare?${chosen.map((id) => `job=${id}`).join("&")}`}>
              Compare ({chosen.length})
            </Button>
          )}
          <Button component={Link} to="/submit">
            Submit a problem
          </Button>
        </Group>
      </Group>
      <Filters query={query} set={set} />
      <Asked query={jobs} what="jobs">
        {({ pages }) => {
          const all = pages.flatMap((page) => page.jobs);
          if (all.length === 0) return filtered ? <NothingFound clear={() => setParams({})} /> : <NothingYet />;
          return (
            <>
              {jobs.isRefetchError && (
                <Alert color="orange" variant="outline">
                  This list may be out of date: {jobs.error?.message}
                </Alert>
              )}
              <Table jobs={all} chosen={chosen} choose={setChosen} setTag={(tag) => set("tag", [tag])} />
              {jobs.hasNextPage && (
                <Button variant="default" loading={jobs.isFetchingNextPage} onClick={() => void jobs.fetchNextPage()}>
                  Older jobs
                </Button>
              )}
            </>
          );
        }}
      </Asked>
    </Stack>
  );
}

interface Query {
  q: string;
  status: JobStatus[];
  tag: string[];
}

function Filters({ query, set }: { query: Query; set: (name: string, values: string[]) => void }) {
  const [typed, setTyped] = useState(query.q);
  const search = useDebouncedCallback((value: string) => set("q", [value]), 200);
  return (
    <Group gap="sm" align="end">
      <TextInput
        label="Search"
        description="Search names and tags ( / )"
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          search(event.currentTarget.value);
        }}
        data-search
        style={{ flex: "1 1 220px" }}
      />
      <MultiSelect
        label="Status"
        data={STATUSES}
        value={query.status}
        onChange={(values) => set("status", values)}
        clearable
        placeholder={query.status.length ? undefined : "any"}
        clearButtonProps={{ "aria-label": "Any status" }}
        style={{ flex: "1 1 180px" }}
      />
      <TagsInput
        label="Tags"
        value={query.tag}
        onChange={(values) => set("tag", values)}
        placeholder={query.tag.length ? undefined : "any"}
        style={{ flex: "1 1 160px" }}
      />
    </Group>
  );
}

interface TableProps {
  jobs: JobView[];
  chosen: string[];
  choose: (ids: string[]) => void;
  setTag: (tag: string) => void;
}

function Table({ jobs, chosen, choose, setTag }: TableProps) {
  const toggle = (id: string): void => choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Jobs">
      <table className="rows">
        <thead>
          <tr>
            <th>
              <span style={{ position: "absolute", left: -9999 }}>Compare</span>
            </th>
            <th>Problem</th>
            <th>Status</th>
            <th className="figure">Speedup</th>
            <th className="figure">Rounds</th>
            <th>Model</th>
            <th>Backend</th>
            <th>Tags</th>
            <th>Submitted</th>
            <th className="figure">Duration</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.id}>
              <td>
                <Checkbox size="xs" aria-label={`Compare ${job.problem} ${job.id}`} checked={chosen.includes(job.id)} onChange={() => toggle(job.id)} />
              </td>
              <td style={{ maxWidth: 320 }}>
                <Anchor component={Link} to={`/jobs/${job.id}`} data-row fw={600} className="break" c="inherit">
                  {job.problem}
                </Anchor>
              </td>
              <td>
                <StatusPill status={job.status} />
              </td>
              <td className="figure">
                <GainMark speedup={{ ci95: job.best_ci95 }} />
                <b>{ratio(job.best_speedup)}</b>
              </td>
              <td className="figure">
                {Math.min(job.steps_done, job.budget.rounds ?? job.steps_done)} / {job.budget.rounds}
              </td>
              <td className="break">{job.model}</td>
              <td>
                {job.backend} on {job.device}
              </td>
              <td style={{ maxWidth: 220 }}>
                <Group gap={4}>
                  {job.tags.map((tag) => (
                    <Button key={tag} size="compact-xs" variant="default" onClick={() => setTag(tag)} maw={140}>
                      {tag}
                    </Button>
                  ))}
                </Group>
              </td>
              <td style={{ whiteSpace: "nowrap" }} title={job.created_at}>
                {ago(job.created_at)}
              </td>
              <td className="figure">{job.started_at ? between(job.started_at, job.finished_at) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NothingYet() {
  return (
    <Empty title="No jobs yet">
      <Text size="sm">
        Submit a PyTorch problem and watch agents write a faster kernel for it. No API key or GPU needed: the playbook model
        works offline.
      </Text>
      <Button component={Link} to="/submit" mt="sm">
        Submit an example
      </Button>
    </Empty>
  );
}

function NothingFound({ clear }: { clear: () => void }) {
  return (
    <Empty title="No matching jobs">
      <Button variant="default" onClick={clear}>
        Clear filters
      </Button>
    </Empty>
  );
}
