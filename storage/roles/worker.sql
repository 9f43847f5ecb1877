-- What a device node may do in the database: take work orders and answer them, and nothing else.
--
--   psql -v ON_ERROR_STOP=1 -f worker.sql        as the owner of the tables, after `kernelwright db upgrade`; again is harmless
--   CREATE ROLE node1 LOGIN PASSWORD '...' IN ROLE kernelwright_worker;
--
-- A node reads orders with their answers, and the texts that orders name (through order_texts). It reads no tokens, users,
-- webhooks, prompts, replies, memory, events or other jobs' texts, and changes no job.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kernelwright_worker') THEN
        CREATE ROLE kernelwright_worker NOLOGIN;
    END IF;
END
$$;

GRANT USAGE ON SCHEMA public TO kernelwright_worker;
GRANT SELECT ON alembic_version TO kernelwright_worker;

-- Orders: whose turn it is, claims, answers. FOR UPDATE needs a column that may be updated.
GRANT SELECT ON work_orders, device_shares TO kernelwright_worker;
GRANT UPDATE (status, result, fault, claim_owner, claim_token, claim_expires_at, attempts, updated_at, evaluator, taken_at,
    charged_s) ON work_orders TO kernelwright_worker;
GRANT INSERT, UPDATE ON device_shares TO kernelwright_worker;
GRANT SELECT (id, rank) ON jobs TO kernelwright_worker;
GRANT SELECT (id, weight), INSERT (id, created_at) ON teams TO kernelwright_worker;
GRANT EXECUTE ON FUNCTION order_texts(text, text[]) TO kernelwright_worker;

-- What it keeps: machine code of candidates. Contents can be added and held (FOR KEY SHARE), not read.
GRANT SELECT (team_id, hash, bytes), INSERT, UPDATE (bytes) ON blobs TO kernelwright_worker;
GRANT SELECT, INSERT ON job_artefacts TO kernelwright_worker;
GRANT SELECT, DELETE ON doomed_files TO kernelwright_worker;

-- Itself, among the nodes that were seen.
GRANT SELECT, INSERT, UPDATE, DELETE ON nodes TO kernelwright_worker;
