import { useCallback, useMemo } from "react";
import { Text } from "@mantine/core";
import { kindOf, roofLine, roofPoint, type Roof, type RoofPoint } from "../candidates";
import type { CandidateSummary } from "../client";
import { micros } from "../format";
import { number } from "../timeline";
import { axis, Chart, grid, tooltip, type Colors } from "./chart";
import { Empty } from "./States";

interface Props {
  candidates: CandidateSummary[];
  bestId: string | null;
  /** What validation found out: bytes, FLOPs, the device's ceilings. */
  validated: Record<string, unknown> | null;
  /** The job has ended. */
  over: boolean;
}

/** Every accepted candidate and the baselines under the device's roof, both axes logarithmic. */
export default function RooflineChart({ candidates, bestId, validated, over }: Props) {
  const flops = number(validated?.flops) ?? 0;
  const bytes = number(validated?.bytes) ?? 0;
  const roof = useMemo(() => roofOf(validated), [validated]);
  const points = useMemo(() => (flops && bytes ? pointsOf(candidates, bestId, flops, bytes) : []), [candidates, bestId, flops, bytes]);
  const option = useCallback((colors: Colors) => draw(colors, points, roof), [points, roof]);
  if (!validated) return <Empty title={over ? "Problem not measured" : "Problem not measured yet"} />;
  if (!flops || !bytes) return <Empty title="No roofline">This problem has no floating-point work; only its memory lower bound applies.</Empty>;
  if (points.length === 0) return <Empty title={over ? "No accepted candidate" : "No accepted candidate yet"} />;
  const best = points.find((one) => one.kind === "best");
  return (
    <>
      <Chart
        height={320}
        label={`Roofline: ${points.length} points at ${(flops / bytes).toPrecision(2)} FLOP/byte; best ${best ? best.gflops.toPrecision(3) : "none"} GFLOP/s`}
        option={option}
      />
      <Text size="xs" className="quiet">
        All points lie at the problem's arithmetic intensity, {(flops / bytes).toPrecision(2)} FLOP/byte. Lower bound for its bytes and
        operations: {micros(number(validated.floor_us))}.
        {roof ? "" : " The device reported no ceilings."}
      </Text>
    </>
  );
}

function roofOf(validated: Record<string, unknown> | null): Roof | null {
  const sheet = validated?.device as Record<string, unknown> | null | undefined;
  const peakGflops = number(sheet?.peak_gflop_s);
  const bandwidthGbS = number(sheet?.copy_bandwidth_gb_s);
  const cacheGbS = number(sheet?.cache_bandwidth_gb_s) ?? 0;
  return peakGflops && bandwidthGbS ? { peakGflops, bandwidthGbS, cacheGbS } : null;
}

function pointsOf(candidates: CandidateSummary[], bestId: string | null, flops: number, bytes: number): RoofPoint[] {
  const timed = candidates.filter((one) => one.verdict === "accepted" && one.median_us);
  const found = timed.map((one) => roofPoint(`round ${one.step + 1}`, kindOf(one, bestId), one.median_us!, flops, bytes));
  const baselines = Object.entries(timed.at(-1)?.baselines_us ?? {});
  return [...found, ...baselines.map(([name, median]) => roofPoint(name, "baseline", median, flops, bytes))];
}

function draw(colors: Colors, points: RoofPoint[], roof: Roof | null): object {
  const at = points[0]!.intensity;
  const [from, to] = [at / 30, Math.max(at * 30, roof ? (roof.peakGflops / roof.bandwidthGbS) * 4 : 0)];
  const series = (name: string, kind: RoofPoint["kind"], color: string, symbol: string, size: number): object => ({
    name, type: "scatter", symbol, symbolSize: size, itemStyle: { color },
    data: points.filter((one) => one.kind === kind).map((one) => ({ name: `${one.name}: ${micros(one.medianUs)}`, value: [one.intensity, one.gflops] })),
    label: kind === "baseline" ? { show: true, position: "right", color: colors.ink, formatter: (one: { name: string }) => one.name } : undefined,
  });
  const line = (name: string, type: string, data: [number, number][]): object => ({
    name, type: "line", symbol: "none", lineStyle: { color: colors.main, width: 2, type }, itemStyle: { color: colors.main }, data,
  });
  return {
    grid,
    legend: { top: 0, textStyle: { color: colors.ink } },
    tooltip: { ...tooltip, trigger: "item", formatter: (one: { name: string; value: number[] }) => `${one.name}\n${one.value[1]?.toPrecision(3)} GFLOP/s` },
    xAxis: axis(colors, "Arithmetic intensity (FLOP/byte)", { type: "log", min: from, max: to, axisLabel: { color: colors.ink, formatter: short } }),
    yAxis: axis(colors, "GFLOP/s", { type: "log", nameGap: 40, axisLabel: { color: colors.ink, formatter: short } }),
    series: [
      ...(roof ? [line("roof", "solid", roofLine(roof.peakGflops, roof.bandwidthGbS, from, to))] : []),
      ...(roof && roof.cacheGbS > roof.bandwidthGbS ? [line("cache roof", "dashed", roofLine(roof.peakGflops, roof.cacheGbS, from, to))] : []),
      series("surely faster", "accepted", colors.good, "circle", 8),
      series("accepted", "correct", colors.ink, "circle", 8),
      series("best", "best", colors.best, "diamond", 15),
      series("baselines", "baseline", colors.other, "triangle", 11),
    ],
  };
}

const short = (value: number): string => (value >= 0.01 && value < 10_000 ? String(Number(value.toPrecision(2))) : value.toExponential(0));
