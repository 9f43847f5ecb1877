/** Why believe this number: samples, intervals, what it was compared with, and where. */
import { Alert, Stack, Text } from "@mantine/core";
import type { EvaluationReport, Latency } from "../client";
import { micros, ratio } from "../format";
import { inks } from "./Pills";
import { Section } from "./Section";

export function Evidence({ report }: { report: EvaluationReport }) {
  return (
    <Stack gap="xl">
      <Claim report={report} />
      <Section title="Measured side by side">
        <Latencies report={report} />
      </Section>
      {report.shapes.length > 0 && (
        <Section title="Every shape">
          <Shapes report={report} />
        </Section>
      )}
      <Section title="What else was checked">
        <Checks report={report} />
      </Section>
      <Section title="Where it was measured">
        <Surroundings report={report} />
      </Section>
    </Stack>
  );
}

function Claim({ report }: { report: EvaluationReport }) {
  const { best_baseline: best, ci95 } = report.speedup;
  if (!best) return <Alert variant="outline">It was not timed: it did not pass the gates before.</Alert>;
  const sure = ci95 && (ci95[0] > 1 || ci95[1] < 1);
  return (
    <Text maw={760}>
      It takes <b>{micros(report.latency?.median_us)}</b> a call (median of {report.latency?.samples} timed calls, each on fresh inputs), that is{" "}
      <b>{ratio(best)}</b> of the fastest baseline's speed, measured in turns with it.
      {ci95 && (
        <>
          {" "}
          The 95 % interval of that ratio is {ratio(ci95[0])} to {ratio(ci95[1])}
          {sure ? ", which does not contain 1×: the difference is real." : ", which contains 1×: no difference was shown."}
        </>
      )}
    </Text>
  );
}

function Latencies({ report }: { report: EvaluationReport }) {
  const rows: [string, Latency][] = [
    ...(report.latency ? ([["this kernel", report.latency]] as [string, Latency][]) : []),
    ...Object.entries(report.baselines).flatMap(([name, latency]) => (latency ? ([[name, latency]] as [string, Latency][]) : [])),
  ];
  if (rows.length === 0) return <Text size="sm">Nothing was timed.</Text>;
  const top = Math.max(...rows.map(([, one]) => one.p90_us)) * 1.05;
  const at = (value: number): string => `${(value / top) * 100}%`;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Latencies">
      <table className="rows">
        <thead>
          <tr>
            <th>What</th>
            <th className="figure">Median</th>
            <th className="figure">95 % interval</th>
            <th className="figure">p10 – p90</th>
            <th className="figure">Samples</th>
            <th style={{ width: "35%", minWidth: 140 }}>Spread (p10 to p90, median)</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, one]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="figure">{micros(one.median_us)}</td>
              <td className="figure">
                {micros(one.ci95_us[0])} – {micros(one.ci95_us[1])}
              </td>
              <td className="figure">
                {micros(one.p10_us)} – {micros(one.p90_us)}
              </td>
              <td className="figure">{one.samples}</td>
              <td>
                <div className="interval" aria-hidden="true">
                  <i style={{ left: at(one.p10_us), width: at(Math.max(one.p90_us - one.p10_us, top / 200)) }} />
                  <b style={{ left: at(one.median_us) }} />
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Shapes({ report }: { report: EvaluationReport }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Shapes">
      <table className="rows">
        <thead>
          <tr>
            <th>Inputs</th>
            <th className="figure">Median</th>
            <th className="figure">Speedup</th>
            <th className="figure">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {report.shapes.map((one, index) => (
            <tr key={index}>
              <td>{one.shapes.map((shape) => shape.join("×")).join(", ")}</td>
              <td className="figure">{micros(one.latency.median_us)}</td>
              <td className="figure">{ratio(one.speedup.best_baseline)}</td>
              <td className="figure">{one.speedup.ci95 ? `${ratio(one.speedup.ci95[0])} – ${ratio(one.speedup.ci95[1])}` : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ASKED: Record<string, string> = {
  screen: "Its text was read for forbidden ways: timers, frame walks, fallbacks to the reference.",
  compile: "It was compiled in a sandbox without device and network.",
  load: "It was loaded with the reference's own weights, in a process that never sees the reference.",
  correctness: "Its outputs were compared on several draws of inputs, against a tolerance and a float64 run.",
  integrity: "Inputs unchanged, work done on every call, nothing left running, clocks agree.",
  generalization: "Shapes and seeds chosen after it was submitted, which it could not know.",
  timing: "Timed in turns with the fastest baseline, caches flushed between calls.",
};

function Checks({ report }: { report: EvaluationReport }) {
  return (
    <ul style={{ margin: 0, paddingLeft: 0, listStyle: "none" }}>
      {Object.entries(ASKED).map(([name, sentence]) => {
        const gate = report.gates.find((one) => one.name === name);
        const [mark, ink] = gate?.status === "passed" ? ["✓", "accepted"] : gate?.status === "failed" ? ["✕", "rejected"] : gate?.status === "suspicious" ? ["?", "suspicious"] : ["–", "pending"];
        return (
          <li key={name} style={{ marginBottom: 6 }}>
            <span className="pill" style={inks(ink!)}>
              <span aria-hidden="true">{mark}</span>
              {gate?.status ?? "not reached"}
            </span>{" "}
            <b>{name}</b> {sentence}
          </li>
        );
      })}
    </ul>
  );
}

function Surroundings({ report }: { report: EvaluationReport }) {
  const { environment: there } = report;
  const isolation = { docker: "containers", namespaces: "namespaces with a user of its own", limits: "resource limits only" }[there.isolation];
  const clocks = Object.entries(there.clocks ?? {}).map(([name, mhz]) => `${name} ${mhz} MHz`);
  const facts: [string, string | null | undefined][] = [
    ["Device", there.device],
    ["Processor", there.cpu],
    ["Driver", there.driver],
    ["PyTorch", there.torch],
    ["Triton", there.triton],
    ["Toolkit", there.toolkit],
    ["TF32", there.tf32 ? "allowed on both sides" : "off on both sides"],
    ["Isolation", isolation ?? there.isolation],
    ["Referee", there.referee_version],
    ["Clocks", clocks.join(", ") || null],
    ["Tuned", report.tuned ? `${Object.entries(report.tuned.parameters).map(([name, value]) => `${name}=${value}`).join(", ")} (of ${report.tuned.tried} settings)` : null],
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
