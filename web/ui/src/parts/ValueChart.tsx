import { useCallback } from "react";
import type { ChangeView } from "../client";
import { signed } from "../format";
import { axis, Chart, grid, tooltip, type Colors } from "./chart";

/** The learned value after each reward, over all families and devices. */
export default function ValueChart({ history }: { history: readonly ChangeView[] }) {
  const option = useCallback((colors: Colors) => draw(colors, history), [history]);
  const last = history.at(-1);
  return <Chart height={280} label={`Learned value over ${history.length} changes, now ${signed(last?.after)}`} option={option} />;
}

function draw(colors: Colors, history: readonly ChangeView[]): object {
  const widest = history.filter((one) => one.family === "*" && one.site === "*");
  const shown = widest.length > 0 ? widest : history;
  const line = (stage: string, color: string): object => {
    const changes = shown.filter((one) => one.stage === stage);
    const start = changes[0] ? [[0, changes[0].before]] : [];
    return {
      name: stage, type: "line", step: "end", symbolSize: 7, itemStyle: { color }, lineStyle: { color, width: 2 },
      data: [...start, ...changes.map((one, index) => [index + 1, one.after])],
    };
  };
  return {
    grid,
    legend: { top: 0, textStyle: { color: colors.ink } },
    tooltip: { ...tooltip, trigger: "item", formatter: (one: { seriesName: string; value: number[] }) => `${one.seriesName}: ${signed(one.value[1])} after ${one.value[0]} rewards` },
    xAxis: axis(colors, "rewards taken in", { type: "value", minInterval: 1, splitLine: { show: false } }),
    yAxis: axis(colors, "value", { type: "value", min: -1, max: 1, nameGap: 38 }),
    series: [line("draft", colors.main), line("refine", colors.best)],
  };
}
