/** What the machine did while a figure was taken, in words. */
import type { EvaluationReport } from "./client";
import { percent } from "./format";

type Environment = EvaluationReport["environment"];
/** Share of all cores' time from which on a host disturbs what is measured on it. */
const BUSY = 0.9;
const STOLEN = 0.02;
/** NVML's bits: what slows a GPU down, those of them that are worth a word. */
const SLOWED: [number, string][] = [
  [0x4, "power limit"],
  [0x8, "hardware slowdown"],
  [0x20, "temperature (software)"],
  [0x40, "temperature (hardware)"],
  [0x80, "power brake"],
];

export function slowedBy(bits: number): string[] {
  return SLOWED.flatMap(([bit, name]) => (Math.floor(bits / bit) % 2 === 1 ? [name] : []));
}

export interface Surrounding {
  name: string;
  value: string;
  /** Whether it makes figures doubtful. */
  doubtful: boolean;
}

/** Load, clocks, temperature, throttling: what could be read. */
export function surroundingsOf({ host = {}, clocks = {} }: Environment): Surrounding[] {
  const found: Surrounding[] = [];
  const add = (name: string, there: number | undefined, tell: (value: number) => string, doubtful: (value: number) => boolean = () => false): void => {
    if (there !== undefined) found.push({ name, value: tell(there), doubtful: doubtful(there) });
  };
  add("host load (1 min)", host.load_1m, (value) => value.toFixed(2));
  add("host busy", host.busy_share, percent, (value) => value > BUSY);
  add("stolen by the hypervisor", host.steal_share, percent, (value) => value > STOLEN);
  add("CPU clock", host.mhz, (value) => `${(value / 1000).toFixed(2)} GHz`);
  add("SM clock", clocks.sm_mhz, (value) => `${value.toFixed(0)} MHz`);
  add("memory clock", clocks.memory_mhz, (value) => `${value.toFixed(0)} MHz`);
  add("GPU temperature", clocks.temperature_c, (value) => `${value.toFixed(0)} °C`, (value) => value >= 85);
  add("GPU power", clocks.power_w, (value) => `${value.toFixed(0)} W`);
  if (clocks.throttle_reasons !== undefined) {
    const slowed = slowedBy(clocks.throttle_reasons);
    found.push({ name: "throttling", value: slowed.length > 0 ? slowed.join(", ") : "none", doubtful: slowed.length > 0 });
  }
  return found;
}
