/** The team's experiences: what was learned, what it is worth, and what memory does at all. */
import { Anchor, Button, Card, Group, Select, Stack, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { data, items } from "../api";
import { learnedPractices, listExperiences, memoryAudit, memoryEffect, searchExperiences, type ExperienceKind, type ExperienceSummary, type Verdict } from "../client";
import { ago, ratio, signed } from "../format";
import { EffectTable } from "../parts/EffectTable";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const KINDS: ExperienceKind[] = ["api_template", "best_practice", "failure", "trace"];
const VERDICTS: Verdict[] = ["accepted", "suspicious", "rejected"];

export function Component() {
  useTitle("Memory");
  const [params, setParams] = useSearchParams();
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
  const q = params.get("q") ?? "";
  return (
    <Stack gap="lg">
      <Title order={1} size="h2">
        Memory
      </Title>
      <Effect />
      <Filters params={params} set={set} />
      {q ? <Found q={q} /> : <Listed params={params} />}
      <Practices />
      <Audit />
    </Stack>
  );
}

interface FilterProps {
  params: URLSearchParams;
  set: (name: string, value: string | null) => void;
}

function Filters({ params, set }: FilterProps) {
  const [typed, setTyped] = useState(params.get("q") ?? "");
  const search = useDebouncedCallback((value: string) => set("q", value), 300);
  const [family, setFamily] = useState(params.get("family") ?? "");
  const narrow = useDebouncedCallback((value: string) => set("family", value), 300);
  const choose = (name: string, label: string, options: string[]) => (
    <Select
      label={label}
      data={options.map((value) => ({ value, label: value.replace("_", " ") }))}
      value={params.get(name)}
      onChange={(value) => set(name, value)}
      clearable
      clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
      placeholder="any"
      disabled={typed !== ""}
      style={{ flex: "1 1 140px" }}
    />
  );
  return (
    <Group align="end" gap="sm">
      <TextInput
        label="Search"
        placeholder="Describe what you are looking for ( / )"
        value={typed}
        onChange={(event) => (setTyped(event.currentTarget.value), search(event.currentTarget.value))}
        data-search
        style={{ flex: "2 1 260px" }}
      />
      {choose("kind", "Kind", KINDS)}
      {choose("verdict", "Verdict", VERDICTS)}
      {choose("backend", "Backend", ["cpp", "triton", "cuda"])}
      <TextInput
        label="Family"
        placeholder="any"
        value={family}
        onChange={(event) => (setFamily(event.currentTarget.value), narrow(event.currentTarget.value))}
        disabled={typed !== ""}
        style={{ flex: "1 1 120px" }}
      />
    </Group>
  );
}

function Listed({ params }: { params: URLSearchParams }) {
  const query = {
    kind: (params.get("kind") as ExperienceKind) || undefined,
    verdict: (params.get("verdict") as Verdict) || undefined,
    backend: params.get("backend") || undefined,
    family: params.get("family") || undefined,
    job: params.get("job") || undefined,
  };
  const pages = useInfiniteQuery({
    queryKey: ["experiences", query],
    queryFn: ({ pageParam }) => data(listExperiences({ query: { ...query, limit: 50, cursor: pageParam } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  return (
    <Asked query={pages}>
      {(found) => {
        const all = found.pages.flatMap((page) => page.items);
        if (all.length === 0) return <Empty title="No matching experiences" />;
        return (
          <>
            <Experiences rows={all.map((experience) => ({ experience }))} />
            {pages.hasNextPage && (
              <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
                Older experiences
              </Button>
            )}
          </>
        );
      }}
    </Asked>
  );
}

function Found({ q }: { q: string }) {
  const found = useQuery({
    queryKey: ["experiences", "search", q],
    queryFn: () => items(searchExperiences({ query: { q, limit: 50 } })),
  });
  return <Asked query={found}>{(all) => (all.length === 0 ? <Empty title="No matching experiences" /> : <Experiences rows={all} />)}</Asked>;
}

function Experiences({ rows }: { rows: { experience: ExperienceSummary; similarity?: number }[] }) {
  const searched = rows.some((row) => row.similarity !== undefined);
  return (
    <Rows label="Experiences">
      <thead>
        <tr>
          <th>Experience</th>
          <th>Kind</th>
          <th>Family</th>
          <th>Backend</th>
          {searched ? <th className="figure">Similarity</th> : <th className="figure">Value: draft</th>}
          {!searched && <th className="figure">Value: refine</th>}
          <th>Verdict</th>
          <th className="figure">Speedup</th>
          <th>Created</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ experience: one, similarity }) => (
          <tr key={one.id}>
            <td style={{ maxWidth: 460 }}>
              <Anchor component={Link} to={`/memory/${one.id}`} data-row c="inherit" size="sm" fw={600} className="break">
                {one.title}
              </Anchor>
            </td>
            <td style={{ whiteSpace: "nowrap" }}>{one.kind.replace("_", " ")}</td>
            <td>{one.family}</td>
            <td>{placeOf(one)}</td>
            {searched ? (
              <td className="figure">{similarity?.toFixed(2)}</td>
            ) : (
              <>
                <td className="figure">{worthOf(one, "draft")}</td>
                <td className="figure">{worthOf(one, "refine")}</td>
              </>
            )}
            <td>{standing(one)}</td>
            <td className="figure">{ratio(one.speedup)}</td>
            <td style={{ whiteSpace: "nowrap" }}>{ago(one.created_at)}</td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}

/** The backend and device that an experience is about. */
const placeOf = ({ backend, device }: ExperienceSummary): string => (device === "any" ? backend : `${backend} on ${device}`);

function standing(one: ExperienceSummary): string {
  if (one.is_self_attested) return "self-attested";
  return one.is_unproven ? "proven by an older referee: reverify" : (one.verdict ?? "–");
}

function worthOf(one: ExperienceSummary, stage: string): string {
  const worth = one.worth.find((item) => item.stage === stage);
  return worth ? `${signed(worth.value)} (${Number(worth.visits.toFixed(1))})` : "–";
}

function Effect() {
  const effect = useQuery({ queryKey: ["effect"], queryFn: () => data(memoryEffect()), staleTime: 15_000 });
  return (
    <Card withBorder component="section" aria-label="Effect of memory">
      <Title order={2} size="h4">
        Effect of memory
      </Title>
      <Asked query={effect} rows={3}>
        {(known) => <EffectTable effect={known} />}
      </Asked>
    </Card>
  );
}

/** What jobs taught: every version, in use or not. */
function Practices() {
  const found = useQuery({ queryKey: ["experiences", "practices"], queryFn: () => items(learnedPractices()) });
  if (!found.data?.length) return null;
  return (
    <Section title="Practices from jobs">
      <Rows label="Practices from jobs">
        <thead>
          <tr>
            <th>Practice</th>
            <th>Family</th>
            <th>Backend</th>
            <th>State</th>
            <th>Verdict</th>
            <th className="figure">Worth (95 %)</th>
            <th className="figure">Uses</th>
            <th>Created</th>
          </tr>
        </thead>
        <tbody>
          {found.data.map((one) => (
            <tr key={one.id}>
              <td style={{ maxWidth: 460 }}>
                <Anchor component={Link} to={`/memory/${one.id}`} data-row c="inherit" fw={600} className="break">
                  {one.statement}
                </Anchor>
              </td>
              <td>{one.family}</td>
              <td>{one.backend}</td>
              <td>{one.merged_into ? <Merged into={one.merged_into} /> : one.state === "forgotten" ? "retired" : one.state}</td>
              <td>{one.verdict}</td>
              <td className="figure" style={{ whiteSpace: "nowrap" }}>
                {signed(one.standing.value)} ({signed(one.standing.low)} to {signed(one.standing.high)})
              </td>
              <td className="figure">{one.standing.uses}</td>
              <td style={{ whiteSpace: "nowrap" }}>{ago(one.created_at)}</td>
            </tr>
          ))}
        </tbody>
      </Rows>
    </Section>
  );
}

function Merged({ into }: { into: string }) {
  return (
    <>
      merged into{" "}
      <Anchor component={Link} to={`/memory/${into}`} underline="always" className="mono">
        {into}
      </Anchor>
    </>
  );
}

function Audit() {
  const audit = useQuery({ queryKey: ["audit"], queryFn: () => items(memoryAudit()) });
  if (!audit.data?.length) return null;
  return (
    <Section title="Manual changes">
      <Rows label="Entries of manual changes">
        <thead>
          <tr>
            <th>Action</th>
            <th>Target</th>
            <th>Reason</th>
            <th>Actor</th>
            <th>Time</th>
          </tr>
        </thead>
        <tbody>
          {audit.data.map((line, index) => (
            <tr key={index}>
              <td>{line.action}</td>
              <td className="mono break">{line.subject}</td>
              <td className="break">{line.reason}</td>
              <td>{line.actor}</td>
              <td style={{ whiteSpace: "nowrap" }}>{ago(line.at)}</td>
            </tr>
          ))}
        </tbody>
      </Rows>
    </Section>
  );
}
