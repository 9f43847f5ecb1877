/** Latencies as boxes on one axis: whiskers from p10 to p90, a box for the median's interval, marks for median and mean. */
import type { Latency } from "../client";
import { micros } from "../format";

export function Spread({ latency, top }: { latency: Latency; top: number }) {
  const at = (value: number): string => `${Math.min(100, Math.max(0, (value / top) * 100))}%`;
  const wide = (from: number, to: number): string => `${Math.max(0.5, ((Math.min(to, top) - Math.max(from, 0)) / top) * 100)}%`;
  const [low, high] = latency.ci95_us;
  return (
    <div className="interval" role="img" aria-label={`p10 ${micros(latency.p10_us)}, median ${micros(latency.median_us)}, mean ${micros(latency.mean_us)}, p90 ${micros(latency.p90_us)}`}>
      <s style={{ left: at(latency.p10_us), width: wide(latency.p10_us, latency.p90_us) }} />
      <i style={{ left: at(low), width: wide(low, high) }} />
      <b style={{ left: at(latency.median_us) }} />
      <u style={{ left: at(latency.mean_us) }} />
    </div>
  );
}

/** The axis below them: zero, the middle and the end. */
export function SpreadAxis({ top }: { top: number }) {
  return (
    <>
      <span className="unseen">Spread</span>
      <div className="spread-axis quiet" aria-hidden="true">
        <span>0</span>
        <span>{micros(top / 2)}</span>
        <span>{micros(top)}</span>
      </div>
    </>
  );
}
