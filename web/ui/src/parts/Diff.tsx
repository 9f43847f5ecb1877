import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { basics, readOnly } from "./editor";

interface Props {
  before: string;
  after: string;
  label: string;
  /** Side by side rather than one below the other. */
  split: boolean;
}

const COLLAPSE = { margin: 3, minSize: 6 };

/** What changed between two texts; unchanged stretches are folded. */
export default function Diff({ before, after, label, split }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  useEffect(() => {
    const parent = place.current!;
    const reading = (name: string) => [basics(dark, name), readOnly];
    const made = split
      ? new MergeView({
          parent,
          a: { doc: before, extensions: reading(`${label}, before`) },
          b: { doc: after, extensions: reading(`${label}, after`) },
          collapseUnchanged: COLLAPSE,
        })
      : new EditorView({
          parent,
          state: EditorState.create({
            doc: after,
            extensions: [
              reading(label),
              unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: COLLAPSE }),
            ],
          }),
        });
    return () => made.destroy();
  }, [before, after, label, split, dark]);
  return <div ref={place} className="editor" style={{ overflow: "auto", maxHeight: "75vh" }} />;
}
