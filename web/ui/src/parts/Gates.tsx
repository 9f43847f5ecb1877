import { Stack, Table, Text } from "@mantine/core";
import type { EvaluationReport } from "../client";
import { seconds } from "../format";
import { Errors } from "./Errors";
import { inks } from "./Pills";

const MARKS: Record<string, { mark: string; ink: string }> = {
  passed: { mark: "✓", ink: "accepted" },
  failed: { mark: "✕", ink: "rejected" },
  suspicious: { mark: "?", ink: "suspicious" },
  skipped: { mark: "–", ink: "pending" },
};

/** Every gate with its evidence; the compiler's messages are the compile gate's. */
export function Gates({ report }: { report: EvaluationReport }) {
  return (
    <Stack gap="md">
      {report.gates.map((gate) => (
        <section key={gate.name} aria-label={`Gate ${gate.name}`}>
          <Text component="h2" fw={650} size="sm" m={0} mb={4}>
            <span className="pill" style={inks(MARKS[gate.status]!.ink)}>
              <span aria-hidden="true">{MARKS[gate.status]!.mark}</span>
              {gate.status}
            </span>{" "}
            {gate.name} <span className="quiet">{seconds(gate.seconds)}</span>
          </Text>
          {gate.detail && (
            <pre className="plain" tabIndex={0} aria-label={`Evidence of the gate ${gate.name}`}>
              {gate.detail}
            </pre>
          )}
        </section>
      ))}
      <section aria-label="Errors">
        <Text component="h2" fw={650} size="sm" m={0} mb={4}>
          Errors
        </Text>
        <Errors report={report} />
      </section>
      <Phases report={report} />
    </Stack>
  );
}

function Phases({ report }: { report: EvaluationReport }) {
  const phases = Object.entries(report.phases_s).filter(([, value]) => value > 0);
  return (
    <section aria-label="Evaluation time">
      <Text component="h2" fw={650} size="sm" m={0}>
        Evaluation time
      </Text>
      <Table maw={420}>
        <Table.Tbody>
          {phases.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td ta="right">{seconds(value)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
