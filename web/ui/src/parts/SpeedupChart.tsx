import { SegmentedControl, Text } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { BASELINES, progress, type Baseline, type Point } from "../candidates";
import type { CandidateSummary } from "../client";
import { ratio } from "../format";
import { axis, Chart, errorBars, grid, legend, tooltip, type Colors } from "./chart";
import { Empty } from "./States";

const NAMES: Record<Baseline, string> = { best_baseline: "fastest", eager: "eager", compile: "compile", compile_max: "max-autotune" };

/** Accepted candidates by round, and the best so far, against one baseline. */
export default function SpeedupChart({ candidates, over }: { candidates: CandidateSummary[]; over: boolean }) {
  const [against, setAgainst] = useState<Baseline>("best_baseline");
  const navigate = useNavigate();
  const open = useCallback((id: string) => void navigate(`/candidates/${id}`), [navigate]);
  const { points, best } = useMemo(() => progress(candidates, against), [candidates, against]);
  const there = (["best_baseline", ...BASELINES] as Baseline[]).filter((name) => candidates.some((one) => typeof one.speedup?.[name] === "number"));
  const option = useCallback((colors: Colors) => draw(colors, points, best, candidates.length), [points, best, candidates.length]);
  if (points.length === 0) return <Empty title={over ? "No accepted candidate" : "No accepted candidate yet"} />;
  const top = best.at(-1);
  return (
    <>
      {there.length > 1 && (
        <SegmentedControl size="xs" value={against} onChange={(value) => setAgainst(value as Baseline)} data={there.map((name) => ({ value: name, label: NAMES[name] }))} aria-label="Baseline" />
      )}
      <Chart height={300} label={`Speedup over ${NAMES[against]} by round: ${points.length} accepted candidates, best ${ratio(top?.value)}`} option={option} onClick={open} />
      {best.map(
        ({ fell, step }) =>
          fell && (
            <Text key={step} size="sm" data-fell={step}>
              <b>Round {step}</b> {fell}
            </Text>
          ),
      )}
      {!points.some((one) => one.bounds) && (
        <Text size="xs" className="quiet">
          No intervals: kernels are timed in turns with the fastest baseline only.
        </Text>
      )}
    </>
  );
}

function draw(colors: Colors, points: Point[], best: Point[], last: number): object {
  return {
    grid: { ...grid, top: 58 },
    legend: legend(colors, [["95 % interval", "interval"], ["faster", "dot"], ["accepted", "dot"], ["best so far", "line"]]),
    tooltip: { ...tooltip, trigger: "item", formatter: told },
    xAxis: axis(colors, "round", { type: "value", min: 0, max: last + 1, minInterval: 1, splitLine: { show: false }, axisLabel: { color: colors.ink, formatter: (round: number) => (round >= 1 && round <= last ? String(round) : "") } }),
    yAxis: axis(colors, "speedup", { type: "value", min: 0, nameGap: 38 }),
    series: [
      errorBars("95 % interval", colors.ink, points.flatMap((one) => (one.bounds ? [{ x: one.step, low: one.bounds[0], high: one.bounds[1] }] : []))),
      scatter("faster", colors.good, points.filter((one) => one.faster)),
      scatter("accepted", colors.ink, points.filter((one) => !one.faster)),
      {
        name: "best so far", type: "line", step: "end", showSymbol: false, lineStyle: { color: colors.best, width: 2.5 }, itemStyle: { color: colors.best },
        data: best.map((one) => [one.step, one.value]),
        markLine: { silent: true, symbol: "none", label: { formatter: "baseline", color: colors.ink, position: "insideStartTop" }, lineStyle: { color: colors.bad, type: "dashed" }, data: [{ yAxis: 1 }] },
      },
    ],
  };
}

function scatter(name: string, color: string, points: Point[]): object {
  return { name, type: "scatter", symbolSize: 9, itemStyle: { color }, data: points.map((one) => ({ value: [one.step, one.value], id: one.id, bounds: one.bounds })) };
}

function told({ value: [step, value], data }: { value: [number, number]; data: { bounds?: [number, number] | null } }): string {
  const interval = data.bounds ? ` (95 % interval ${ratio(data.bounds[0])} – ${ratio(data.bounds[1])})` : "";
  return `round ${step}: ${ratio(value)}${interval}`;
}
