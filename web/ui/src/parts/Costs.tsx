import type { JobCosts } from "../client";
import { count, dollars, seconds } from "../format";
import { Rows } from "./Rows";
import { Empty } from "./States";

/** Tokens, price and time by agent and model; an offline model has no tokens to list. */
export function Costs({ costs }: { costs: JobCosts }) {
  if (costs.by_agent.length === 0) return <Empty title="No model calls" />;
  const metered = costs.by_agent.some(({ usage }) => usage.input_tokens || usage.output_tokens);
  return (
    <Rows label="Costs by agent">
      <thead>
        <tr>
          <th>Agent</th>
          <th>Model</th>
          <th className="figure">Calls</th>
          {metered && (
            <>
              <th className="figure">Tokens in</th>
              <th className="figure">Cached</th>
              <th className="figure">Tokens out</th>
              <th className="figure">Price</th>
            </>
          )}
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
            {metered && (
              <>
                <td className="figure">{count(one.usage.input_tokens)}</td>
                <td className="figure">{count(one.usage.cached_tokens)}</td>
                <td className="figure">{count(one.usage.output_tokens)}</td>
                <td className="figure">{dollars(one.usage.dollars)}</td>
              </>
            )}
            <td className="figure">{seconds(one.seconds)}</td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}
