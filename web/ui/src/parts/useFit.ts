import { useElementSize } from "@mantine/hooks";
import type { FitViewOptions, Node, ReactFlowInstance } from "@xyflow/react";
import { useEffect, useState } from "react";

/** Shows all of a graph again whenever its place has another width, as on a turned phone: `place` is its ref. */
export function useFit<N extends Node>(options: FitViewOptions<N>) {
  const [flow, setFlow] = useState<ReactFlowInstance<N> | null>(null);
  const { ref: place, width } = useElementSize();
  useEffect(() => {
    if (width > 0) void flow?.fitView(options);
  }, [flow, width, options]);
  return { place, setFlow };
}
