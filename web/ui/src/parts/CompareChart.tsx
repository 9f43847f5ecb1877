import { SegmentedControl, Text } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";
import { progress, type Point } from "../candidates";
import type { CandidateSummary } from "../client";
import { ratio } from "../format";
import { axis, Chart, errorBars, grid, tooltip, type Bar, type Colors } from "./chart";
import { Empty } from "./States";

export interface Curve {
  id: string;
  name: string;
  candidates: CandidateSummary[];
}
type Along = "round" | "device";
const AXES: Record<Along, string> = { round: "round", device: "device time (s)" };
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow"];
const LIGHT = ["#0b7285", "#b36b00", "#6741d9", "#0a7d5e", "#c92a2a", "#1864ab", "#862e9c", "#5c940d", "#495057", "#d9480f", "#087f5b", "#364fc7"];
const DARK = ["#3bc9db", "#ffd43b", "#b197fc", "#38d9a9", "#ff8787", "#74c0fc", "#e599f7", "#a9e34b", "#ced4da", "#ffa94d", "#63e6be", "#91a7ff"];

/** The best so far of several jobs, with the intervals of what each best was. */
export default function CompareChart({ curves }: { curves: Curve[] }) {
  const [along, setAlong] = useState<Along>("round");
  const lines = useMemo(() => curves.map((curve) => ({ ...curve, best: placed(curve.candidates, along) })), [curves, along]);
  const option = useCallback((colors: Colors) => draw(colors, lines, along), [lines, along]);
  if (lines.every((line) => line.best.length === 0)) return <Empty title="No accepted candidate" />;
  const label = lines.map((line) => `${line.name} ${ratio(line.best.at(-1)?.value)}`).join(", ");
  return (
    <>
      <SegmentedControl size="xs" value={along} onChange={(value) => setAlong(value as Along)} data={[{ value: "round", label: "by round" }, { value: "device", label: "by device time" }]} aria-label="Horizontal axis" />
      <Chart height={360} label={`Best so far: ${label}`} option={option} />
      {lines.flatMap((line) =>
        line.best.map(
          ({ fell, step }) =>
            fell && (
              <Text key={`${line.id} ${step}`} size="sm" data-fell={step}>
                <b>
                  {line.name}, round {step}
                </b>{" "}
                {fell}
              </Text>
            ),
        ),
      )}
    </>
  );
}

interface At extends Point {
  x: number;
}

/** The best after each step, at its round or at the device time spent by then. */
export function placed(candidates: readonly CandidateSummary[], along: Along): At[] {
  const spent: number[] = [];
  let sum = 0;
  for (const one of [...candidates].sort((a, b) => a.step - b.step)) spent[one.step + 1] = sum += one.device_s;
  return progress(candidates, "best_baseline").best.map((point) => ({ ...point, x: along === "round" ? point.step : (spent[point.step] ?? sum) }));
}

function draw(colors: Colors, lines: { name: string; best: At[] }[], along: Along): object {
  const palette = colors.ink === "#414950" ? LIGHT : DARK;
  const color = (index: number): string => palette[index % palette.length]!;
  const bars = (best: At[], index: number): Bar[] => {
    const seen = new Set<string>();
    // Jobs that improved in the same round would hide each other's bars.
    const aside = along === "round" ? (index - (lines.length - 1) / 2) * 0.04 : 0;
    return best.flatMap((one) => {
      if (!one.bounds || seen.has(one.id)) return [];
      seen.add(one.id);
      return [{ x: one.x + aside, low: one.bounds[0], high: one.bounds[1] }];
    });
  };
  return {
    grid: { ...grid, top: 24 + 22 * Math.ceil(lines.length / 2) },
    legend: { top: 0, textStyle: { color: colors.ink }, data: lines.map((line) => line.name) },
    tooltip: { ...tooltip, trigger: "item", formatter: ({ seriesName, value }: { seriesName: string; value: [number, number] }) => `${seriesName}: ${ratio(value[1])} at ${AXES[along]} ${Number(value[0].toFixed(1))}` },
    xAxis: axis(colors, AXES[along], { type: "value", min: along === "round" ? 1 : 0, minInterval: along === "round" ? 1 : undefined, splitLine: { show: false } }),
    yAxis: axis(colors, "speedup over the fastest baseline", { type: "value", min: 0, nameGap: 38 }),
    series: lines.flatMap((line, index) => [
      errorBars(`${line.name}, 95 % interval`, color(index), bars(line.best, index)),
      {
        name: line.name, type: "line", step: "end", symbol: SYMBOLS[index % SYMBOLS.length], symbolSize: 8, lineStyle: { color: color(index), width: 2 }, itemStyle: { color: color(index) },
        data: line.best.map((one) => [one.x, one.value]),
        markLine: index > 0 ? undefined : { silent: true, symbol: "none", label: { formatter: "baseline", color: colors.ink, position: "insideEndTop" }, lineStyle: { color: colors.bad, type: "dashed" }, data: [{ yAxis: 1 }] },
      },
    ]),
  };
}
