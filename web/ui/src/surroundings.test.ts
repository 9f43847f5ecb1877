import { expect, test } from "vitest";
import { slowedBy, surroundingsOf } from "./surroundings";

const environment = (more: object) => ({ device: "cpu", cpu: "x", referee_version: "3", tf32: false, isolation: "limits", driver: null, torch: null, triton: null, toolkit: null, ...more });

test("a busy host and a hot GPU are marked, quiet ones are told", () => {
  const told = surroundingsOf(environment({ host: { load_1m: 2.47, busy_share: 0.97, steal_share: 0, mhz: 2596 }, clocks: { temperature_c: 88, throttle_reasons: 4 } }));
  expect(told.map((one) => [one.name, one.value, one.doubtful])).toEqual([
    ["host load (1 min)", "2.47", false],
    ["host busy", "97 %", true],
    ["stolen by the hypervisor", "0 %", false],
    ["CPU clock", "2.60 GHz", false],
    ["GPU temperature", "88 °C", true],
    ["throttling", "power limit", true],
  ]);
});

test("reports from before the host was read tell nothing", () => {
  expect(surroundingsOf(environment({}))).toEqual([]);
  expect(slowedBy(0)).toEqual([]);
  expect(slowedBy(1)).toEqual([]); // idle
});
