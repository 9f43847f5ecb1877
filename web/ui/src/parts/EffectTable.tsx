import { Text } from "@mantine/core";
import type { EffectView, Interval } from "../client";
import { NOTHING } from "../format";
import { Rows } from "./Rows";

type Tell = (value: number) => string;
const share: Tell = (value) => `${(value * 100).toFixed(0)} %`;
const plain: Tell = (value) => value.toFixed(1);
const times: Tell = (value) => `${value.toFixed(2)}×`;

/** Steps with memory against steps held out, with 95 % intervals. */
export function EffectTable({ effect }: { effect: EffectView }) {
  const rows: [string, Tell, Interval | null, Interval | null, Interval, number][] = [
    ["Drafts accepted", share, effect.success_with, effect.success_without, effect.success_difference, 0],
    ["Rounds to the first accepted kernel", plain, effect.rounds_with, effect.rounds_without, effect.rounds_saved, 0],
    ["Speedup ratio, with over without", times, null, null, effect.speedup_ratio, 1],
  ];
  return (
    <>
      <Text size="sm" className="quiet" mb="xs">
        {effect.steps_with} {effect.steps_with === 1 ? "step" : "steps"} with memory against {effect.steps_without} held-out {effect.steps_without === 1 ? "step" : "steps"}.
        {effect.steps_without < 20 && " Too few held-out steps to be conclusive."}
      </Text>
      {effect.steps_with + effect.steps_without > 0 && (
        <Rows label="Table of the effect of memory">
          <thead>
            <tr>
              <th>Metric</th>
              <th className="figure">With</th>
              <th className="figure">Without</th>
              <th className="figure">Difference</th>
              <th>Significant?</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, tell, having, lacking, difference, neutral]) => (
              <tr key={name}>
                <td>{name}</td>
                <td className="figure">{having ? within(having, tell) : NOTHING}</td>
                <td className="figure">{lacking ? within(lacking, tell) : NOTHING}</td>
                <td className="figure">{within(difference, tell)}</td>
                <td>{conclusion(difference, neutral)}</td>
              </tr>
            ))}
          </tbody>
        </Rows>
      )}
    </>
  );
}

function within({ estimate, low, high }: Interval, tell: Tell): string {
  if (estimate === null || estimate === undefined) return NOTHING;
  return typeof low === "number" && typeof high === "number" ? `${tell(estimate)} (${tell(low)} to ${tell(high)})` : tell(estimate);
}

function conclusion({ low, high }: Interval, neutral: number): string {
  if (typeof low !== "number" || typeof high !== "number") return "not enough data";
  if (low > neutral) return "yes: helps";
  return high < neutral ? "yes: harms" : "no";
}
