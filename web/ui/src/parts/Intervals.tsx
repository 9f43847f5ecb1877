/** Speedups with their intervals on one axis, the baseline marked: what overlaps is not told apart. */
import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import type { JobView } from "../client";
import { ratio } from "../format";
import { GainMark } from "./Pills";
import { Rows } from "./Rows";

export function Intervals({ jobs }: { jobs: JobView[] }) {
  const top = Math.max(1.2, ...jobs.flatMap((job) => [job.best_ci95?.[1] ?? 0, job.best_speedup ?? 0])) * 1.05;
  const at = (value: number): string => `${(value / top) * 100}%`;
  return (
    <Rows label="Speedups with intervals">
      <thead>
        <tr>
          <th>Job</th>
          <th className="figure">Speedup</th>
          <th className="figure">95 % interval</th>
          <th style={{ width: "50%", minWidth: 180 }}>
            <span className="unseen">Interval</span>
            <div style={{ position: "relative", height: 18, fontWeight: 400 }} aria-hidden="true">
              <span style={{ position: "absolute", left: 0 }}>0</span>
              <span style={{ position: "absolute", left: at(1), transform: "translateX(-50%)" }}>1×</span>
              <span style={{ position: "absolute", right: 0 }}>{ratio(top)}</span>
            </div>
          </th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td className="break" style={{ minWidth: 180 }}>
              <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" underline="always">
                {job.problem}
              </Anchor>{" "}
              <span className="quiet">{job.id}</span>
            </td>
            <td className="figure">
              <GainMark gain={job.best_gain} />
              <b>{ratio(job.best_speedup)}</b>
            </td>
            <td className="figure">{job.best_ci95 ? `${ratio(job.best_ci95[0])} – ${ratio(job.best_ci95[1])}` : "–"}</td>
            <td>
              <div className="interval" aria-hidden="true">
                <em style={{ left: at(1) }} />
                {job.best_ci95 && <i style={{ left: at(job.best_ci95[0]), width: at(Math.max(job.best_ci95[1] - job.best_ci95[0], top / 200)) }} />}
                {job.best_speedup !== null && <b style={{ left: at(job.best_speedup) }} />}
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}
