import type { JobCosts } from "../client";
import { count, dollars, seconds } from "../format";
import { Empty } from "./States";

/** Tokens, price and time by agent and model. */
export function Costs({ costs }: { costs: JobCosts }) {
  if (costs.by_agent.length === 0) return <Empty title="No model calls" />;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Costs by agent">
      <table className="rows">
        <thead>
          <tr>
            <th>Agent</th>
            <th>Model</th>
            <th className="figure">Calls</th>
            <th className="figure">Tokens in</th>
            <th className="figure">cached</th>
            <th className="figure">Tokens out</th>
            <th className="figure">Price</th>
            <th className="figure">Time</th>
          </tr>
        </thead>
        <tbody>
          {costs.by_agent.map((one) => (
            <tr key={`${one.role}/${one.model}`}>
              <td>{one.role}</td>
              <td>{one.model}</td>
              <td className="figure">
                {one.usage.calls}
                {one.failed > 0 && ` (${one.failed} unusable)`}
              </td>
              <td className="figure">{count(one.usage.input_tokens)}</td>
              <td className="figure">{count(one.usage.cached_tokens)}</td>
              <td className="figure">{count(one.usage.output_tokens)}</td>
              <td className="figure">{dollars(one.usage.dollars)}</td>
              <td className="figure">{seconds(one.seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
