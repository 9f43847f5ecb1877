/** Heavy parts (charts, trees, editors) come when they are looked at, not before. */
import { Skeleton } from "@mantine/core";
import { Suspense, useEffect, useRef, useState, type ReactNode } from "react";

export function Later({ height, children }: { height: number; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (seen || !place.current) return;
    const observer = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && setSeen(true), {
      rootMargin: "100px",
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [seen]);
  return (
    <div ref={place} style={{ minHeight: seen ? undefined : height }}>
      {seen && <Suspense fallback={<Skeleton height={height} />}>{children}</Suspense>}
    </div>
  );
}
