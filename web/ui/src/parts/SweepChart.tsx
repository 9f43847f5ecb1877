import { SegmentedControl, Text } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";
import type { EvaluationReport } from "../client";
import { bytesOf } from "../format";
import { objectiveText, pointText, sweepOf, type Sweep, type SweepPoint } from "../sweep";
import { axis, Chart, errorBars, grid, tooltip, type Colors } from "./chart";

type Kind = "latency" | "speedup";

/** A kernel over its input sets: latency beside the fastest baseline, or speedup, against the size of the inputs. */
export default function SweepChart({ report }: { report: EvaluationReport }) {
  const [kind, setKind] = useState<Kind>("speedup");
  const sweep = useMemo(() => sweepOf(report), [report]);
  const option = useCallback((colors: Colors) => draw(colors, sweep, kind), [sweep, kind]);
  const of = objectiveText(report.objective);
  return (
    <>
      <SegmentedControl size="xs" value={kind} onChange={(value) => setKind(value as Kind)} data={[{ value: "speedup", label: "Speedup" }, { value: "latency", label: "Latency" }]} aria-label="Figure" />
      <Chart height={300} label={`${kind === "speedup" ? "Speedup over the fastest baseline" : "Latency"} by input size, ${sweep.latency.length} input sets`} option={option} />
      {of && (
        <Text size="sm" className="quiet">
          The job’s figures are the {of}.
        </Text>
      )}
      {report.objective?.collapse && <Text size="sm">Collapses: {report.objective.collapse}.</Text>}
    </>
  );
}

function draw(colors: Colors, sweep: Sweep, kind: Kind): object {
  const scale = kind === "latency" ? { type: "log", name: "latency (µs)", nameGap: 44 } : { type: "value", min: 0, name: "speedup", nameGap: 38 };
  return {
    grid: { ...grid, top: 40 },
    legend: { top: 0, textStyle: { color: colors.ink } },
    tooltip: { ...tooltip, trigger: "item", formatter: ({ data }: { data: { point: SweepPoint } }) => pointText(data.point, kind) },
    xAxis: axis(colors, "size of the inputs", { type: "log", axisLabel: { color: colors.ink, formatter: bytesOf }, splitLine: { show: false } }),
    yAxis: axis(colors, scale.name, scale),
    series: kind === "latency" ? [...line("this kernel", colors.main, sweep.latency), ...line("fastest baseline", colors.bad, sweep.baseline)] : [...line("speedup", colors.main, sweep.speedup, colors)],
  };
}

function line(name: string, color: string, points: SweepPoint[], parity?: Colors): object[] {
  const markLine = parity && { silent: true, symbol: "none", label: { formatter: "baseline", color: parity.ink, position: "insideEndTop" }, lineStyle: { color: parity.bad, type: "dashed" }, data: [{ yAxis: 1 }] };
  return [
    errorBars(`${name}, 95 % interval`, color, points.map(({ bytes: x, low, high }) => ({ x, low, high }))),
    { name, type: "line", symbolSize: 7, lineStyle: { color, width: 2 }, itemStyle: { color }, data: points.map((point) => ({ value: [point.bytes, point.value], point })), markLine },
  ];
}
