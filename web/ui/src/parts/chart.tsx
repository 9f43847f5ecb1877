/** ECharts with only what is drawn here. Tooltips are drawn as text, so that no name can bring markup along. */
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer } from "echarts/renderers";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";

echarts.use([CustomChart, LineChart, ScatterChart, AriaComponent, GridComponent, LabelLayout, LegendComponent, MarkLineComponent, TooltipComponent, CanvasRenderer]);

export interface Colors {
  ink: string;
  line: string;
  main: string;
  best: string;
  good: string;
  bad: string;
  other: string;
  /** Of the page behind it. */
  ground: string;
}

const LIGHT: Colors = { ink: "#414950", line: "#dee2e6", main: "#0b7285", best: "#b36b00", good: "#0a7d5e", bad: "#c92a2a", other: "#6741d9", ground: "#ffffff" };
const DARK: Colors = { ink: "#ced4da", line: "#373a40", main: "#3bc9db", best: "#ffd43b", good: "#38d9a9", bad: "#ff8787", other: "#b197fc", ground: "#242424" };

interface Props {
  label: string;
  height: number;
  option: (colors: Colors) => object;
  onClick?: (id: string) => void;
}

export function Chart({ label, height, option, onClick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<echarts.ECharts | null>(null);
  const colors = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark" ? DARK : LIGHT;
  useEffect(() => {
    const made = echarts.init(place.current!, null, { renderer: "canvas" });
    chart.current = made;
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(place.current!);
    return () => {
      observer.disconnect();
      made.dispose();
    };
  }, []);
  useEffect(() => {
    chart.current?.setOption(
      { animation: false, textStyle: { color: colors.ink, fontFamily: "system-ui, sans-serif" }, ...option(colors) },
      { notMerge: true },
    );
  }, [option, colors]);
  useEffect(() => {
    const made = chart.current;
    if (!made || !onClick) return;
    const handler = (event: unknown): void => {
      const id = (event as { data?: { id?: unknown } }).data?.id;
      if (typeof id === "string") onClick(id);
    };
    made.on("click", handler);
    return () => void made.off("click", handler);
  }, [onClick]);
  return <div ref={place} role="img" aria-label={label} style={{ height, width: "100%" }} />;
}

export const axis = (colors: Colors, name: string, more: object = {}): object => ({
  name,
  nameLocation: "middle",
  nameGap: 30,
  nameTextStyle: { color: colors.ink },
  axisLabel: { color: colors.ink },
  axisLine: { show: true, lineStyle: { color: colors.line } },
  splitLine: { lineStyle: { color: colors.line } },
  ...more,
});

export const tooltip = { renderMode: "richText" as const, confine: true };
export const grid = { left: 56, right: 24, top: 40, bottom: 46 };

const ICONS = {
  dot: "circle",
  diamond: "diamond",
  triangle: "triangle",
  line: "path://M0 4h20v2H0z",
  dashes: "path://M0 4h8v2H0zM12 4h8v2h-8z",
  interval: "path://M7 0h6v1h-2.5v8H13v1H7V9h2.5V1H7z",
};

/** A legend whose marks look like what they stand for. */
export const legend = (colors: Colors, entries: (readonly [name: string, icon: keyof typeof ICONS])[]): object => ({
  top: 0, left: 0, itemWidth: 20, itemHeight: 10, itemGap: 14, textStyle: { color: colors.ink },
  data: entries.map(([name, icon]) => ({ name, icon: ICONS[icon] })),
});

export interface Bar {
  x: number;
  low: number;
  high: number;
}
interface Drawing {
  value: (dimension: number) => number;
  coord: (place: [number, number]) => [number, number];
}

/** Vertical error bars with caps, below the points that they belong to. */
export function errorBars(name: string, color: string, bars: readonly Bar[]): object {
  const line = (x1: number, y1: number, x2: number, y2: number): object => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 1.5, opacity: 0.75 } });
  return {
    name, type: "custom", silent: true, clip: false, z: 1, itemStyle: { color }, tooltip: { show: false },
    encode: { x: 0, y: [1, 2] },
    data: bars.map(({ x, low, high }) => [x, low, high]),
    renderItem: (_: unknown, api: Drawing) => {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]);
      const top = api.coord([api.value(0), api.value(2)])[1];
      return { type: "group", children: [line(x, bottom, x, top), line(x - 4, top, x + 4, top), line(x - 4, bottom, x + 4, bottom)] };
    },
  };
}
