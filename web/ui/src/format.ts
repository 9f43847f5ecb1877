/** Figures as people read them. */
import { serverNow } from "./api";

export const NOTHING = "–";

export function ratio(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)}×`;
}

export function micros(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} s`;
  if (value >= 1e3) return `${(value / 1e3).toPrecision(3)} ms`;
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} µs`;
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (value < 0.001 && value > 0) return "under 1 ms";
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
}

export function dollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return "unpriced";
  return value === 0 ? "$0" : `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}

const counted = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const count = (value: number | null | undefined): string => (value === null || value === undefined ? NOTHING : counted.format(value));

/** A share with two significant figures, from 10 % on without decimals. */
export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const shown = value * 100;
  return `${shown === 0 || Math.abs(shown) >= 9.95 ? shown.toFixed(0) : Number(shown.toPrecision(2))} %`;
}

/** The class of a kernel's limit. */
export const limitOf = (bottleneck: string): string => (bottleneck === "neither" ? "no single limit" : bottleneck.replaceAll("_", " "));

const SIZES = ["B", "kB", "MB", "GB", "TB"];

/** An amount of data, in powers of 1000. */
export function bytesOf(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const power = Math.min(SIZES.length - 1, value < 1000 ? 0 : Math.floor(Math.log10(value) / 3));
  return `${power === 0 ? value : (value / 1000 ** power).toPrecision(3)} ${SIZES[power]}`;
}

/** A text of at most so many characters, cut between words. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.lastIndexOf(" ", most - 2);
  return `${text.slice(0, end > most / 2 ? end : most - 2)} …`;
}

export const signed = (value: number | null | undefined, digits = 2): string =>
  value === null || value === undefined ? NOTHING : `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;

const UNITS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [3600, "minute"],
  [86_400, "hour"],
  [Infinity, "day"],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago, by the server's clock: this machine's may be wrong. */
export function ago(time: string | null | undefined, now = serverNow()): string {
  if (!time) return NOTHING;
  const away = (Date.parse(time) - now) / 1000;
  const size = Math.abs(away);
  if (size < 5) return "just now";
  const index = UNITS.findIndex(([limit]) => size < limit);
  const unit = UNITS[index]![1];
  return relative.format(Math.round(away / (index === 0 ? 1 : UNITS[index - 1]![0])), unit);
}

export function between(from: string | null | undefined, to: string | null | undefined): string {
  if (!from) return NOTHING;
  const end = to ? Date.parse(to) : serverNow();
  return seconds(Math.max(0, (end - Date.parse(from)) / 1000));
}
