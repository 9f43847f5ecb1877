import { Stack, Text } from "@mantine/core";
import type { EvaluationReport } from "../client";
import { micros, percent } from "../format";
import { Section } from "./Section";
import { Empty } from "./States";

/** How near to the hardware's limits it runs, and what holds it back. */
export function Profile({ report }: { report: EvaluationReport }) {
  const { profile, roofline } = report;
  if (!profile && !roofline) return <Empty title="No profile">Only kernels that reach the timing gate are profiled.</Empty>;
  const metrics = Object.entries(profile?.metrics ?? {});
  return (
    <Stack gap="xl">
      {roofline && (
        <Section title="Speed of light">
          <Bar name="of the roofline" value={roofline.fraction} />
          <Text size="sm" mt="xs">
            <b>{roofline.bound[0]!.toUpperCase() + roofline.bound.slice(1)} bound</b>: the lower bound is {micros(roofline.floor_us)} for{" "}
            {roofline.bytes.toLocaleString("en")} bytes and {roofline.flops.toLocaleString("en")} operations.
          </Text>
        </Section>
      )}
      {profile && (
        <Section title="Bottleneck">
          <Text>
            <b>{profile.bottleneck}</b>: {profile.reason}
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
                    <th scope="row" className="break" style={{ fontWeight: 400 }}>
                      {WORDS[name] && <span style={{ color: "var(--mantine-color-text)" }}>{WORDS[name]} </span>}
                      <span className="mono">{name}</span>
                    </th>
                    <td className="figure">{Number(value.toPrecision(5)).toLocaleString("en")}</td>
                    <td style={{ width: "40%" }}>{shareOf(name, value) !== null && <Bar value={shareOf(name, value)!} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      )}
    </Stack>
  );
}

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
  page_faults_per_call: "page faults a call",
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
