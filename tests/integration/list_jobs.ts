/** Lists jobs with the generated client, and prints what it got: `list_jobs ADDRESS TOKEN`. */
import { client } from "../../build/clients/typescript/client.gen";
import { getJob, listJobs, type JobPageView } from "../../build/clients/typescript";

declare const process: { argv: string[] };
const [address, token] = process.argv.slice(2);
client.setConfig({ baseUrl: address, auth: token, throwOnError: false });

const listed = await listJobs({ query: { limit: 1 } });
const page: JobPageView | undefined = listed.data;
const next = await listJobs({ query: { limit: 1, cursor: page?.next_cursor ?? null } });
const missing = await getJob({ path: { job_id: "job-nowhere" } });
console.log(
  JSON.stringify({
    ids: [...(page?.items ?? []), ...(next.data?.items ?? [])].map((job) => job.id),
    status: page?.items[0]?.status,
    last: next.data?.next_cursor ?? null,
    missing: missing.error?.status,
  }),
);
