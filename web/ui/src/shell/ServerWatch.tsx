import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { request } from "../api";

/** Says when the server cannot be reached, and asks for everything again when it is back. */
export function ServerWatch() {
  const health = useQuery({
    queryKey: ["health"],
    queryFn: async () => (await request("/healthz")).ok,
    refetchInterval: (query) => (query.state.status === "error" ? 1_500 : 10_000),
    retry: false,
  });
  const { refetch } = health;
  useEffect(() => {
    const ask = (): void => void refetch();
    window.addEventListener("online", ask);
    window.addEventListener("offline", ask);
    return () => {
      window.removeEventListener("online", ask);
      window.removeEventListener("offline", ask);
    };
  }, [refetch]);
  return (
    <div role="status" aria-live="polite">
      {health.isError && (
        <p style={{ margin: 0, padding: "6px 16px", background: "var(--suspicious-fill)", color: "var(--suspicious-ink)" }}>
          The server cannot be reached. Showing the last known state; reconnecting…
        </p>
      )}
    </div>
  );
}
