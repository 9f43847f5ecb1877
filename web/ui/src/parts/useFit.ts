import { useElementSize } from "@mantine/hooks";
import type { FitViewOptions, ReactFlowInstance } from "@xyflow/react";
import { useEffect, useState } from "react";

/** Shows all of a graph again whenever its place has another width, as on a turned phone: `place` is its ref. */
export function useFit(options: FitViewOptions) {
  const [flow, setFlow] = useState<Pick<ReactFlowInstance, "fitView"> | null>(null);
  const { ref: place, width } = useElementSize();
  useEffect(() => {
    if (width > 0) void flow?.fitView(options);
  }, [flow, width, options]);
  return { place, setFlow };
}
