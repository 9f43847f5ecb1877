import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { data } from "../api";
import { cancelJob, pauseJob, resumeJob, type JobView } from "../client";
import { jobKey } from "../useJob";
import { FINAL } from "./Pills";
import { notify } from "./notify";
import { Sharing } from "./Sharing";

const ACTIONS = { cancel: cancelJob, pause: pauseJob, resume: resumeJob };

export function JobActions({ job }: { job: JobView }) {
  const queries = useQueryClient();
  const steer = useMutation({
    mutationFn: (action: keyof typeof ACTIONS) => data(ACTIONS[action]({ path: { job_id: job.id } })),
    onSuccess: (now) => queries.setQueryData(jobKey(job.id), now),
    onSettled: () => queries.invalidateQueries({ queryKey: jobKey(job.id) }),
  });
  const run = (action: keyof typeof ACTIONS) => () => void notify(steer.mutateAsync(action));
  const over = FINAL.has(job.status);
  const paused = job.status === "paused" || job.pause_requested;
  return (
    <Group gap="xs">
      {!over && !paused && (
        <Button variant="default" loading={steer.isPending} onClick={run("pause")}>
          Pause
        </Button>
      )}
      {!over && paused && (
        <Button variant="default" loading={steer.isPending} onClick={run("resume")}>
          Resume
        </Button>
      )}
      {!over && (
        <Button color="red" variant="outline" loading={steer.isPending} onClick={run("cancel")} disabled={job.cancel_requested}>
          Cancel
        </Button>
      )}
      <Sharing job={job} />
      <Button variant="default" component={Link} to={`/submit?from=${job.id}`}>
        Retry with changes
      </Button>
    </Group>
  );
}
