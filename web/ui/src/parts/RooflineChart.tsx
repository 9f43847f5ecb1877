import { useCallback, useMemo } from "react";
import { Text } from "@mantine/core";
import { boundAt, decades, roofLine, roofPoints, type Roof, type RoofPoint } from "../candidates";
import type { CandidateSummary } from "../client";
import { bytesOf, micros, percent } from "../format";
import { number } from "../timeline";
import { axis, Chart, errorBars, grid, legend, tooltip, type Colors } from "./chart";
import { Empty } from "./States";

interface Props {
  candidates: CandidateSummary[];
  bestId: string | null;
  /** What validation found out: bytes, FLOPs, the device's ceilings. */
  validated: Record<string, unknown> | null;
  /** The job has ended. */
  over: boolean;
}

/** Every accepted candidate and the baselines under the device's roofs, both axes logarithmic. */
export default function RooflineChart({ candidates, bestId, validated, over }: Props) {
  const flops = number(validated?.flops) ?? 0;
  const bytes = number(validated?.bytes) ?? 0;
  const roof = useMemo(() => roofOf(validated), [validated]);
  const floorUs = number(validated?.floor_us) ?? 0;
  const points = useMemo(() => (flops && bytes ? roofPoints(candidates, bestId, { flops, bytes, floorUs }) : []), [candidates, bestId, flops, bytes, floorUs]);
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
      <Text size="sm" data-bound>
        {roof ? inWords(roof, flops / bytes, bytes, best) : "The device reported no ceilings."}
      </Text>
      <Text size="xs" className="quiet">
        {bytesOf(bytes)} and {flops.toLocaleString("en")} operations per call at the least, so no faster than {micros(floorUs)}.
        {candidates.some((one) => one.input_sets > 1) && " Bytes, operations and points are those of the first input set."}
      </Text>
    </>
  );
}

function inWords(roof: Roof, intensity: number, bytes: number, best: RoofPoint | undefined): string {
  const { bound, permits } = boundAt(roof, intensity);
  const limit = bound === "memory" ? `memory (${roof.bandwidthGbS.toPrecision(3)} GB/s)` : `arithmetic (${roof.peakGflops.toPrecision(3)} GFLOP/s)`;
  const words = `${bound === "memory" ? "Memory" : "Compute"} bound: at ${intensity.toPrecision(2)} FLOP/byte ${limit} permits ${permits.toPrecision(3)} GFLOP/s`;
  const reached = best ? `; the best kernel reaches ${best.gflops.toPrecision(3)} (${percent(best.gflops / permits)})` : "";
  const cached = roof.cacheBytes && bytes <= roof.cacheBytes ? `. Its data fit the last-level cache (${bytesOf(roof.cacheBytes)}), whose roof is the dashed one` : "";
  return `${words}${reached}${cached}.`;
}

function roofOf(validated: Record<string, unknown> | null): Roof | null {
  const sheet = validated?.device as Record<string, unknown> | null | undefined;
  const peakGflops = number(sheet?.peak_gflop_s);
  const bandwidthGbS = number(sheet?.copy_bandwidth_gb_s);
  const cacheGbS = number(sheet?.cache_bandwidth_gb_s) ?? 0;
  return peakGflops && bandwidthGbS ? { peakGflops, bandwidthGbS, cacheGbS, cacheBytes: number(sheet?.cache_bytes) } : null;
}

function draw(colors: Colors, points: RoofPoint[], roof: Roof | null): object {
  const at = points[0]!.intensity;
  const [from, to] = decades([at / 5, at * 5, roof ? roof.peakGflops / roof.bandwidthGbS : at]);
  const [low, high] = decades([...points.map((one) => one.gflops), ...(roof ? [roof.peakGflops, boundAt(roof, at).permits] : [])]);
  const series = (name: string, kind: RoofPoint["kind"], color: string, symbol: string, size: number): object => ({
    name, type: "scatter", symbol, symbolSize: size, itemStyle: { color },
    data: points.filter((one) => one.kind === kind).map((one) => ({ name: `${one.name}: ${micros(one.medianUs)}`, value: [one.intensity, one.gflops] })),
    label: kind === "baseline" || kind === "best" ? { show: true, position: kind === "best" ? "left" : "right", distance: 10, color: colors.ink, backgroundColor: colors.ground, padding: [1, 3], formatter: (one: { name: string }) => one.name } : undefined,
    labelLayout: { moveOverlap: "shiftY" },
  });
  const roofs = (name: string, type: string, bandwidth: number): object => ({
    name, type: "line", symbol: "none", lineStyle: { color: colors.main, width: 2, type }, itemStyle: { color: colors.main },
    data: roofLine(roof!.peakGflops, bandwidth, from, to),
    endLabel: { show: false },
  });
  const memory = `memory, ${roof?.bandwidthGbS.toPrecision(3)} GB/s`;
  const cache = `cache, ${roof?.cacheGbS.toPrecision(3)} GB/s`;
  const cached = roof !== null && roof.cacheGbS > roof.bandwidthGbS;
  return {
    grid: { ...grid, top: 64 },
    legend: legend(colors, [
      ...(roof ? [[memory, "line"] as const] : []),
      ...(cached ? [[cache, "dashes"] as const] : []),
      ["95 % interval", "interval"], ["faster", "dot"], ["accepted", "dot"], ["best", "diamond"],
      ...(points.some((one) => one.kind === "baseline") ? [["baselines", "triangle"] as const] : []),
    ]),
    tooltip: { ...tooltip, trigger: "item", formatter: (one: { name: string; value: number[] }) => `${one.name}\n${one.value[1]?.toPrecision(3)} GFLOP/s` },
    xAxis: axis(colors, "Arithmetic intensity (FLOP/byte)", { type: "log", min: from, max: to, axisLabel: { color: colors.ink, formatter: short } }),
    yAxis: axis(colors, "GFLOP/s", { type: "log", min: low, max: high, nameGap: 40, axisLabel: { color: colors.ink, formatter: short } }),
    series: [
      ...(roof ? [roofs(memory, "solid", roof.bandwidthGbS)] : []),
      ...(cached ? [roofs(cache, "dashed", roof.cacheGbS)] : []),
      errorBars("95 % interval", colors.ink, points.flatMap((one) => (one.bounds ? [{ x: one.intensity, low: one.bounds[0], high: one.bounds[1] }] : []))),
      series("faster", "accepted", colors.good, "circle", 8),
      series("accepted", "correct", colors.ink, "circle", 8),
      series("best", "best", colors.best, "diamond", 15),
      series("baselines", "baseline", colors.other, "triangle", 11),
    ],
  };
}

const short = (value: number): string => (value >= 0.01 && value < 10_000 ? String(Number(value.toPrecision(2))) : value.toExponential(0));
