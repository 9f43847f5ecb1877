/** A text to read whose lines can be chosen and marked, with a share beside those that are hot. */
import { EditorState, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, type DecorationSet } from "@codemirror/view";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { heatOf } from "../machineCode";
import { basics, readOnly } from "./editor";

interface Props {
  text: string;
  label: string;
  plain?: boolean;
  /** Share of the samples by line, from 1. */
  heat: ReadonlyMap<number, number>;
  /** Lines that belong to what is chosen. */
  marked: readonly number[];
  /** A line to bring into sight, unless it is the one that was clicked here. */
  sight: number | null;
  choose: (line: number) => void;
}

export default function LinkedCode({ text, label, plain = false, heat, marked, sight, choose }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const chosen = useRef(choose);
  chosen.current = choose;
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  useEffect(() => {
    const onLine = EditorView.domEventHandlers({
      click: (event, editor) => {
        const at = editor.posAtCoords({ x: event.clientX, y: event.clientY });
        if (at !== null) chosen.current(editor.state.doc.lineAt(at).number);
      },
      keydown: (event, editor) => {
        if (event.key === "Enter") chosen.current(editor.state.doc.lineAt(editor.state.selection.main.head).number);
      },
    });
    const extensions = [heat.size > 0 ? shares(heat) : [], basics(dark, label, !plain), warm(heat), marks, onLine, readOnly];
    const made = new EditorView({ parent: place.current!, state: EditorState.create({ doc: text, extensions }) });
    view.current = made;
    return () => made.destroy();
  }, [text, label, plain, heat, dark]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const seen = sight !== null && sight >= 1 && sight <= made.state.doc.lines ? [EditorView.scrollIntoView(made.state.doc.line(sight).from, { y: "center" })] : [];
    made.dispatch({ effects: [mark.of(marked), ...seen] });
  }, [marked, sight, text, heat, dark]);
  return <div ref={place} className="editor linked" />;
}

const mark = StateEffect.define<readonly number[]>();
const CHOSEN = Decoration.line({ class: "cm-chosen" });

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(known, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(mark)) continue;
      const { doc } = transaction.state;
      return Decoration.set([...effect.value].filter((line) => line >= 1 && line <= doc.lines).sort((a, b) => a - b).map((line) => CHOSEN.range(doc.line(line).from)));
    }
    return known;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const warm = (heat: ReadonlyMap<number, number>) =>
  EditorView.decorations.of((editor) => {
    const builder = new RangeSetBuilder<Decoration>();
    for (const line of [...heat.keys()].sort((a, b) => a - b)) {
      if (line < 1 || line > editor.state.doc.lines) continue;
      const from = editor.state.doc.line(line).from;
      builder.add(from, from, Decoration.line({ class: `cm-heat-${heatOf(heat.get(line)!)}` }));
    }
    return builder.finish();
  });

class Share extends GutterMarker {
  constructor(readonly share: number) {
    super();
  }
  eq(other: Share): boolean {
    return other.share === this.share;
  }
  toDOM(): Node {
    return document.createTextNode(`${(this.share * 100).toFixed(this.share < 0.0995 ? 1 : 0)} %`);
  }
}

const shares = (heat: ReadonlyMap<number, number>) =>
  gutter({
    class: "cm-shares",
    lineMarker: (editor, line) => {
      const share = heat.get(editor.state.doc.lineAt(line.from).number);
      return share === undefined ? null : new Share(share);
    },
    initialSpacer: () => new Share(0.1),
  });
