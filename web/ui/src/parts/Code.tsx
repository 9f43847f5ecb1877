import { history, historyKeymap, defaultKeymap } from "@codemirror/commands";
import { EditorState, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, placeholder, type DecorationSet } from "@codemirror/view";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { basics, readOnly } from "./editor";

interface Props {
  text: string;
  label: string;
  /** Called with every change; without it the text cannot be changed. */
  onChange?: (text: string) => void;
  /** Line to mark, from 1. */
  fault?: number | null;
  hint?: string;
  /** No Python: nothing is coloured. */
  plain?: boolean;
  minHeight?: number;
}

/** A Python text to read, or to write. */
export default function Code({ text, label, onChange, fault = null, hint = "", plain = false, minHeight = 120 }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const editable = onChange !== undefined;
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const latest = useRef(text);
  useEffect(() => {
    const listener = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      latest.current = update.state.doc.toString();
      changed.current?.(latest.current);
    });
    const writing: Extension = [history(), keymap.of([...defaultKeymap, ...historyKeymap]), placeholder(hint)];
    const extensions = [basics(dark, label, !plain), faultLine, listener, editable ? writing : readOnly];
    const made = new EditorView({ parent: place.current!, state: EditorState.create({ doc: latest.current, extensions }) });
    view.current = made;
    return () => made.destroy();
  }, [dark, label, editable, hint, plain]);
  useEffect(() => {
    const made = view.current;
    if (!made || latest.current === text) return;
    latest.current = text;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    view.current?.dispatch({ effects: mark.of(fault) });
  }, [fault, text]);
  return <div ref={place} className="editor" style={{ minHeight }} />;
}

const mark = StateEffect.define<number | null>();

const faultLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(mark)) continue;
      const { doc } = transaction.state;
      if (effect.value === null || effect.value < 1 || effect.value > doc.lines) return Decoration.none;
      return Decoration.set([Decoration.line({ class: "cm-fault" }).range(doc.line(effect.value).from)]);
    }
    return marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});
