/** Why believe this number: samples, intervals, what it was compared with, and where. */
import { Alert, Group, Stack, Text } from "@mantine/core";
import type { EvaluationReport, Gain, Latency, Passes } from "../client";
import { bytesOf, micros, percent, ratio } from "../format";
import { passRows } from "../passes";
import { NAMES, ofMedians, rivalOf, type Measured } from "../ratios";
import { surroundingsOf } from "../surroundings";
import { objectiveText } from "../sweep";
import { Errors } from "./Errors";
import { inks } from "./Pills";
import { Rows } from "./Rows";
import { Section } from "./Section";
import { Spread, SpreadAxis } from "./Spread";

export function Evidence({ report }: { report: EvaluationReport }) {
  return (
    <Stack gap="xl">
      <Stack gap="xs">
        <Claim report={report} />
        <Meanwhile report={report} />
      </Stack>
      <Section title="Latency">
        <Latencies report={report} />
      </Section>
      {report.passes && (
        <Section title="Forward and backward">
          <PassTable passes={report.passes} />
        </Section>
      )}
      {report.shapes.length > 0 && (
        <Section title="Shapes">
          <Shapes report={report} />
        </Section>
      )}
      <Section title="Checks">
        <Checks report={report} />
      </Section>
      <Section title="What no gate can see">
        <Unseen />
      </Section>
      <Section title="Errors">
        <Errors report={report} />
      </Section>
      <Section title="Environment">
        <Surroundings report={report} />
      </Section>
    </Stack>
  );
}

/** A report's figures as a listing has them. */
function measuredOf({ latency, baselines, speedup }: EvaluationReport): Measured {
  const medians = Object.entries(baselines).flatMap(([name, one]) => (one ? [[name, (one as Latency).median_us]] : []));
  return { median_us: latency?.median_us ?? null, baselines_us: Object.fromEntries(medians) as Record<string, number>, speedup };
}

/** What the machine did meanwhile, beside the figure that depends on it. */
function Meanwhile({ report }: { report: EvaluationReport }) {
  const found = surroundingsOf(report.environment);
  if (!report.latency || found.length === 0) return null;
  const doubtful = found.some((one) => one.doubtful);
  return (
    <Group gap="xs" aria-label="Machine during the measurement" role="group">
      <Text size="sm" className="quiet">
        During the measurement:
      </Text>
      {found.map(({ name, value, doubtful: marked }) => (
        <span key={name} className="pill" style={inks(marked ? "suspicious" : "pending")}>
          {marked && <span aria-hidden="true">!</span>}
          {name} {value}
        </span>
      ))}
      {doubtful && (
        <Text size="sm" className="quiet">
          Candidate and baseline were disturbed alike; the interval is wider for it.
        </Text>
      )}
    </Group>
  );
}

function Claim({ report }: { report: EvaluationReport }) {
  const { best_baseline: best, ci95 } = report.speedup;
  if (!best) return <Alert variant="outline">Not timed: an earlier gate failed.</Alert>;
  const { objective } = report;
  if (objective?.collapse) {
    return (
      <Alert color="red" variant="outline" title="Collapses on held-out shapes" maw={760}>
        {objective.collapse}. The speedup shown is the held-out set’s.
      </Alert>
    );
  }
  const of = objectiveText(objective);
  return (
    <Text maw={760}>
      Median <b>{micros(report.latency?.median_us)}</b> per call ({report.latency?.samples} calls, fresh inputs each) — <b>{ratio(best)}</b>{" "}
      the speed of the fastest baseline, interleaved with it{of && `; both are the ${of}`}.
      {ci95 && (
        <>
          {" "}
          The 95 % interval of that ratio is {ratio(ci95[0])} to {ratio(ci95[1])}
          {report.gain && OUTCOMES[report.gain]}
        </>
      )}
    </Text>
  );
}

const OUTCOMES: Record<Gain, string> = {
  surely: ", all of it above 1×: the kernel is faster.",
  within_noise: ", which includes 1×: the difference is within noise.",
  none: ", all of it below 1×: the kernel is slower.",
};

function Latencies({ report }: { report: EvaluationReport }) {
  const rows: [string, Latency][] = [
    ...(report.latency ? ([["this kernel", report.latency]] as [string, Latency][]) : []),
    ...Object.entries(report.baselines).flatMap(([name, latency]) => (latency ? ([[name, latency]] as [string, Latency][]) : [])),
  ];
  if (rows.length === 0) return <Text size="sm">Not timed.</Text>;
  const top = evenly(Math.max(...rows.map(([, one]) => Math.max(one.p90_us, one.mean_us))));
  const measured = measuredOf(report);
  const rival = rivalOf(report.speedup);
  return (
    <>
      <Rows label="Latencies">
        <thead>
          <tr>
            <th>Variant</th>
            <th className="figure">Median</th>
            <th className="figure">95 % interval</th>
            <th className="figure">Mean</th>
            <th className="figure">p10 – p90</th>
            <th className="figure">Samples</th>
            <th className="figure">Speedup</th>
            <th className="figure">Ratio of medians</th>
            <th style={{ width: "28%", minWidth: 140 }}>
              <SpreadAxis top={top} />
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, one]) => {
            const speedup = report.speedup[name as "eager"];
            return (
              <tr key={name} data-variant={name}>
                <td>
                  {NAMES[name] ?? name}
                  {one.mode && <span className="quiet"> ({one.mode})</span>}
                  {name === rival && <span className="quiet"> (in turns)</span>}
                </td>
                <td className="figure" data-median>
                  {micros(one.median_us)}
                </td>
                <td className="figure">
                  {micros(one.ci95_us[0])} – {micros(one.ci95_us[1])}
                </td>
                <td className="figure">{micros(one.mean_us)}</td>
                <td className="figure">
                  {micros(one.p10_us)} – {micros(one.p90_us)}
                </td>
                <td className="figure">{one.samples}</td>
                <td className="figure" data-speedup>
                  {ratio(speedup)}
                </td>
                <td className="figure" data-of-medians>
                  {ratio(ofMedians(measured, name as "eager"))}
                </td>
                <td>
                  <Spread latency={one} top={top} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </Rows>
      <Text size="xs" className="quiet" mt={6}>
        Whiskers: p10 to p90. Box: 95 % interval of the median. Bar: median. Dot: mean.
      </Text>
      <Work report={report} />
    </>
  );
}

/** The end of an axis that holds a value, whose half is a round figure too. */
function evenly(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 3, 4, 6, 8, 10].find((step) => step * power >= value) ?? 10);
}

/** How a call divides into its passes. */
function PassTable({ passes }: { passes: Passes }) {
  return (
    <>
      <Rows label="Times of forward and backward">
        <thead>
          <tr>
            <th>Variant</th>
            <th className="figure">Forward</th>
            <th className="figure">95 % interval</th>
            <th className="figure">Backward</th>
            <th className="figure">95 % interval</th>
            <th className="figure">Both</th>
          </tr>
        </thead>
        <tbody>
          {passRows(passes).map(({ name, forward, backward, both }) => (
            <tr key={name} data-variant={name}>
              <td>{NAMES[name] ?? name}</td>
              <td className="figure">{forward.text}</td>
              <td className="figure">{forward.interval}</td>
              <td className="figure">{backward.text}</td>
              <td className="figure">{backward.interval}</td>
              <td className="figure">{both}</td>
            </tr>
          ))}
        </tbody>
      </Rows>
      <Text size="xs" className="quiet" mt={6}>
        The forward is timed alone, with its graph recorded. The backward is what both passes take beyond it.
      </Text>
    </>
  );
}

/** Data and operations of one call, and the rates that the median comes to. */
function Work({ report: { roofline, latency, shapes } }: { report: EvaluationReport }) {
  const median = shapes[0]?.latency.median_us ?? latency?.median_us ?? 0;
  if (!roofline || median <= 0) return null;
  const rate = (amount: number): string => (amount / (median * 1e3)).toPrecision(3);
  return (
    <Text size="sm" mt={6}>
      Memory per call{shapes.length > 1 && " (first input set)"}: {bytesOf(roofline.bytes)} at the least, so {rate(roofline.bytes)} GB/s
      {roofline.flops > 0 && ` and ${rate(roofline.flops)} GFLOP/s`} at its median: {percent(roofline.fraction)} of what the device permits ({roofline.bound} bound).
    </Text>
  );
}

function Shapes({ report }: { report: EvaluationReport }) {
  return (
    <Rows label="Latency per shape" most={960}>
      <thead>
        <tr>
          <th>Input set</th>
          <th>Inputs</th>
          <th className="figure">Weight</th>
          <th className="figure">Median</th>
          <th className="figure">Speedup</th>
          <th className="figure">95 % interval</th>
        </tr>
      </thead>
      <tbody>
        {report.shapes.map((one, index) => (
          <tr key={index}>
            <td>{one.name || index}</td>
            <td>{one.shapes.map((shape) => shape.join("×")).join(", ")}</td>
            <td className="figure">{one.weight ?? 1}</td>
            <td className="figure">{micros(one.latency.median_us)}</td>
            <td className="figure">{ratio(one.speedup.best_baseline)}</td>
            <td className="figure">{one.speedup.ci95 ? `${ratio(one.speedup.ci95[0])} – ${ratio(one.speedup.ci95[1])}` : "–"}</td>
          </tr>
        ))}
        {(report.held_out ?? []).map((one) => (
          <tr key={`held out ${one.number}`}>
            <td>held out {one.number}</td>
            <td>not shown</td>
            <td className="figure">–</td>
            <td className="figure">{micros(one.latency.median_us)}</td>
            <td className="figure">{ratio(one.speedup.best_baseline)}</td>
            <td className="figure">{one.speedup.ci95 ? `${ratio(one.speedup.ci95[0])} – ${ratio(one.speedup.ci95[1])}` : "–"}</td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}

const ASKED: Record<string, string> = {
  screen: "Source checked for forbidden constructs: timers, frame inspection, fallbacks to the reference.",
  compile: "Compiled in a sandbox without device or network.",
  load: "Loaded with the reference's weights, in a process that never sees the reference.",
  correctness: "Outputs compared for several input distributions, against a tolerance and a float64 run.",
  integrity: "Inputs unchanged, work done on every call, nothing left running, clocks agree.",
  generalization: "Outputs compared for shapes and seeds chosen after submission.",
  timing: "Interleaved with the fastest baseline, caches flushed between calls.",
};

function Checks({ report }: { report: EvaluationReport }) {
  return (
    <ul className="checks">
      {Object.entries(ASKED).map(([name, sentence]) => {
        const gate = report.gates.find((one) => one.name === name);
        const [mark, ink] = gate?.status === "passed" ? ["✓", "accepted"] : gate?.status === "failed" ? ["✕", "rejected"] : gate?.status === "suspicious" ? ["?", "suspicious"] : ["–", "pending"];
        return (
          <li key={name}>
            <span className="pill" style={inks(ink!)}>
              <span aria-hidden="true">{mark}</span>
              {gate?.status ?? "not reached"}
            </span>
            <b>{name}</b>
            <span>{sentence}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The limits of judging that matter most to a kernel's users. */
function Unseen() {
  return (
    <Text size="sm" maw={760}>
      A kernel is judged one call at a time, on tensors that begin where PyTorch places them: calls from several threads at once, and slices that begin elsewhere, are
      not tried. What was refused or not tried is in the gates&apos; details. The whole list is in <code>docs/explanation/judging.md</code>, “What no gate can see”.
    </Text>
  );
}

/** The first referee that tries products beyond the range of float16. */
const JUDGES_RANGE = 11;

/** The precision that products were judged by; null where the report does not prove it. */
function precisionOf({ self_attested: attested, verdict, environment }: EvaluationReport): string | null {
  if (attested) return "what the problem’s own TOLERANCE permits, looser than the referee’s";
  const isProven = verdict === "accepted" && Number(environment.referee_version) >= JUDGES_RANGE;
  return isProven ? "float32 results have the error and the range of float32 products" : null;
}

function Surroundings({ report }: { report: EvaluationReport }) {
  const { environment: there } = report;
  const isolation = { docker: "containers", namespaces: "namespaces with a separate user", limits: "resource limits only" }[there.isolation];
  const facts: [string, string | null | undefined][] = [
    ["Device", there.device],
    ["Processor", there.cpu],
    ["Driver", there.driver],
    ["PyTorch", there.torch],
    ["Triton", there.triton],
    ["Toolkit", there.toolkit],
    ["Products", precisionOf(report)],
    ["TF32", there.tf32 ? "on for both sides" : "off for both sides"],
    ["Isolation", isolation ?? there.isolation],
    ["Referee", there.referee_version],
    ["Between calls", there.between_calls === "stopped" ? "the candidate's processes are stopped" : there.between_calls === "running" ? "the candidate's processes run on" : null],
    ...surroundingsOf(there).map(({ name, value }): [string, string] => [`${name[0]!.toUpperCase()}${name.slice(1)}`, value]),
    ["Tuned", report.tuned ? `${Object.entries(report.tuned.parameters).map(([name, value]) => `${name}=${value}`).join(", ")} (best of ${report.tuned.tried} configurations)` : null],
  ];
  return (
    <table className="rows" style={{ maxWidth: 760 }}>
      <tbody>
        {facts.map(
          ([name, value]) =>
            value && (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className="break">{value}</td>
              </tr>
            ),
        )}
      </tbody>
    </table>
  );
}
