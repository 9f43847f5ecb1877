import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { data, download } from "../api";
import { getCandidate, type CandidateView, type EvaluationReport, type ProfilerFile } from "../client";
import { comparedCounters } from "../counters";
import { limitOf, micros, percent, ratio } from "../format";
import { useCandidates } from "../useJob";
import { notify } from "./notify";
import { Section } from "./Section";
import { Asked, Empty } from "./States";

/** How near to the hardware's limits it runs, and what holds it back; beside another kernel of the job if asked. */
export function Profile({ candidate, report }: { candidate: CandidateView; report: EvaluationReport }) {
  const [params, setParams] = useSearchParams();
  const other = params.get("with");
  const siblings = useCandidates(candidate.job_id);
  const beside = useQuery({
    queryKey: ["candidate", other],
    queryFn: () => data(getCandidate({ path: { candidate_id: other ?? "" } })),
    enabled: other !== null,
  });
  const { profile, roofline } = report;
  if (!profile && !roofline) return <Empty title="No profile">Only kernels that reach the timing gate are profiled.</Empty>;
  const options = (siblings.data ?? [])
    .filter((one) => one.id !== candidate.id && one.verdict === "accepted")
    .map((one) => ({ value: one.id, label: `Round ${one.step + 1}${one.id === candidate.parent_id ? " (parent)" : ""}` }));
  return (
    <Stack gap="xl">
      <Group align="end" justify="space-between">
        <Select
          label="Compare with"
          placeholder="another kernel of the job"
          data={options}
          value={other}
          onChange={(next) => setParams(next ? { tab: "profile", with: next } : { tab: "profile" }, { replace: true })}
          clearable
          clearButtonProps={{ "aria-label": "Compare with none" }}
          w={{ base: "100%", xs: 300 }}
        />
        {profile?.file && <Record id={candidate.id} file={profile.file} />}
      </Group>
      {other === null ? (
        <One report={report} />
      ) : (
        <Asked query={beside}>
          {(known) => <Two mine={report} theirs={known.report} names={[`Round ${candidate.step + 1}`, known.job_id === candidate.job_id ? `Round ${known.step + 1}` : known.id]} />}
        </Asked>
      )}
    </Stack>
  );
}

/** The profiler's own file, to open in its viewer. */
function Record({ id, file }: { id: string; file: ProfilerFile }) {
  if (!file.hash) {
    return (
      <Text size="sm" className="quiet">
        {file.name}: {file.note}
      </Text>
    );
  }
  const take = (): void => void notify(download(`/api/v1/candidates/${id}/profile`, `${id}-${file.name}`));
  return (
    <Button variant="default" onClick={take}>
      Nsight Compute report ({(file.bytes / 1e6).toFixed(1)} MB)
    </Button>
  );
}

function One({ report: { profile, roofline, shapes } }: { report: EvaluationReport }) {
  const metrics = Object.entries(profile?.metrics ?? {});
  return (
    <>
      {roofline && (
        <Section title="Speed of light">
          <Bar name={`of the roofline${shapes.length > 1 ? " (first input set)" : ""}`} value={roofline.fraction} />
          <Text size="sm" mt="xs">
            <b>{roofline.bound[0]!.toUpperCase() + roofline.bound.slice(1)} bound</b>: the lower bound is {micros(roofline.floor_us)} for{" "}
            {roofline.bytes.toLocaleString("en")} bytes and {roofline.flops.toLocaleString("en")} operations.
          </Text>
        </Section>
      )}
      {profile && (
        <Section title="Bottleneck">
          <Text>
            <b>{limitOf(profile.bottleneck)}</b>: {profile.reason}
          </Text>
          <Text size="sm" className="quiet">
            Source: {profile.source}
          </Text>
        </Section>
      )}
      {metrics.length > 0 && (
        <Section title="Counters">
          <div className="scroll-x" tabIndex={0} role="region" aria-label="Counter values">
            <table className="rows" style={{ maxWidth: 900 }}>
              <tbody>
                {metrics.map(([name, value]) => (
                  <tr key={name}>
                    <Named name={name} />
                    <td className="figure">{shareOf(name, value) !== null && /_share$/.test(name) ? percent(value) : figure(value)}</td>
                    <td style={{ width: "40%" }}>{shareOf(name, value) !== null && <Bar value={shareOf(name, value)!} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      )}
    </>
  );
}

/** Two kernels' limits and counters, and the second's counter over the first's. */
function Two({ mine, theirs, names }: { mine: EvaluationReport; theirs: EvaluationReport | null | undefined; names: [string, string] }) {
  if (!theirs?.profile) return <Empty title="No profile">{names[1]} was not profiled: only kernels that reach the timing gate are.</Empty>;
  const reports = [mine, theirs];
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Profiles compared">
      <table className="rows" style={{ maxWidth: 1000 }}>
        <thead>
          <tr>
            <th scope="col">Counter</th>
            {names.map((name) => (
              <th scope="col" className="figure" key={name}>
                {name}
              </th>
            ))}
            <th scope="col" className="figure">
              Ratio
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">bottleneck</th>
            {reports.map((one, at) => (
              <td className="figure" key={at}>
                {one.profile ? limitOf(one.profile.bottleneck) : "–"}
              </td>
            ))}
            <td />
          </tr>
          {comparedCounters(mine, theirs).map(({ name, values, ratio: times }) => (
            <tr key={name}>
              <Named name={name} />
              {values.map((value, at) => (
                <td className="figure" key={at}>
                  {value === null ? "–" : figure(value)}
                </td>
              ))}
              <td className="figure">{ratio(times)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Named({ name }: { name: string }) {
  return (
    <th scope="row" className="break" style={{ fontWeight: 400 }}>
      {WORDS[name] && <span style={{ color: "var(--mantine-color-text)" }}>{WORDS[name]} </span>}
      <span className="mono">{name}</span>
    </th>
  );
}

const figure = (value: number): string => Number(value.toPrecision(5)).toLocaleString("en");

/** Metrics that are shares of something: Nsight Compute's percentages of peak and our own say so in their names. */
function shareOf(name: string, value: number): number | null {
  if (/_share$|^balance$/.test(name) && value >= 0 && value <= 1) return value;
  return /pct|percent|%/.test(name) && value >= 0 && value <= 100 ? value / 100 : null;
}

const WORDS: Record<string, string> = {
  kernel_share: "operating system",
  openmp_share: "OpenMP runtime (waiting, scheduling)",
  own_share: "the candidate's own code",
  python_share: "Python and starting the call",
  library_share: "library kernels",
  math_share: "scalar mathematics of the C library",
  vector_math_share: "vector mathematics of the C library",
  generated_share: "generated code",
  samples: "samples taken",
  threads: "threads",
  balance: "balance of the threads",
  page_faults_per_call: "page faults per call",
  vector_share: "vector instructions, of own code",
  scalar_share: "scalar floating point, of own code",
  spill_share: "register spills, of own code",
  hottest_line: "hottest line",
  hottest_line_share: "samples at the hottest line",
};

function Bar({ name, value }: { name?: string; value: number }) {
  return (
    <div>
      {name && (
        <Text size="sm">
          {percent(value)} {name}
        </Text>
      )}
      <div className="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(100, value * 100)}%` }} />
      </div>
    </div>
  );
}
