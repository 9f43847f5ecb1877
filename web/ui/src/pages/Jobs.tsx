/** All jobs; search, filters, order and columns live in the address. */
import { Alert, Button, Group, MultiSelect, Stack, TagsInput, Text, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { JobStatus } from "../client";
import { arrangementOf, needsAll, parametersOf, type Arrangement } from "../jobTable";
import { JobTable, turned } from "../parts/JobTable";
import { JobViews } from "../parts/JobViews";
import { STATUSES } from "../parts/Pills";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";
import { MOST, useJobs, type JobQuery } from "../useJobs";

export function Component() {
  useTitle("Jobs");
  const [params, setParams] = useSearchParams();
  const query: JobQuery = { q: params.get("q") ?? "", status: params.getAll("status") as JobStatus[], tag: params.getAll("tag") };
  const arrangement = useMemo(() => arrangementOf(params), [params]);
  const [chosen, setChosen] = useState<string[]>([]);
  const { newest, rows, more, loading, error, next } = useJobs(query, needsAll(arrangement));
  const change = (values: Record<string, string | readonly string[] | null>): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(values)) {
          after.delete(name);
          for (const one of [value ?? []].flat()) if (one) after.append(name, one);
        }
        return after;
      },
      { replace: true },
    );
  const set = (name: string, values: string[]): void => change({ [name]: values });
  const arrange = (to: Arrangement): void => change(parametersOf(to));
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
      <Filters key={query.q === "" ? "" : "searched"} query={query} set={set} />
      <Asked query={{ ...newest, data: rows }} what="jobs">
        {(all) =>
          all.length === 0 ? (
            filtered ? <NothingFound clear={() => setParams({})} /> : <NothingYet />
          ) : (
            <>
              {(newest.isRefetchError || error) && (
                <Alert color="orange" variant="outline">
                  This list may be out of date: {(newest.error ?? error)?.message}
                </Alert>
              )}
              <Group justify="space-between" align="end">
                <Text size="sm" className="quiet" role="status">
                  {counted(all.length, more, needsAll(arrangement))}
                </Text>
                <JobViews arrangement={arrangement} arrange={arrange} search={params.toString()} open={(search) => setParams(new URLSearchParams(search))} />
              </Group>
              <JobTable
                jobs={all}
                arrangement={arrangement}
                sortBy={(key) => arrange({ ...arrangement, sort: turned(arrangement.sort, key) })}
                chosen={chosen}
                choose={setChosen}
                setTag={(tag) => set("tag", [tag])}
              />
              {more && !needsAll(arrangement) && (
                <Button variant="default" loading={loading} onClick={next}>
                  Older jobs
                </Button>
              )}
            </>
          )
        }
      </Asked>
    </Stack>
  );
}

/** How many there are, and whether more are on their way. */
function counted(there: number, more: boolean, all: boolean): string {
  const words = `${there.toLocaleString("en")} ${there === 1 ? "job" : "jobs"}`;
  if (!more) return there >= MOST ? `the newest ${words}` : words;
  return all ? `${words}, loading older ones…` : `the newest ${words}`;
}

function Filters({ query, set }: { query: JobQuery; set: (name: string, values: string[]) => void }) {
  const [typed, setTyped] = useState(query.q);
  const search = useDebouncedCallback((value: string) => set("q", [value]), 200);
  return (
    <Group gap="sm" align="end">
      <TextInput
        label="Search"
        placeholder="Names and tags ( / )"
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
