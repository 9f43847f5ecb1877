/** CodeMirror as it is used here: Python with line numbers, in the page's own colours. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { kernelPython } from "./language";

const inked = (ink: Record<string, string>): Extension =>
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.modifier, tags.processingInstruction], color: ink.keyword },
      { tag: [tags.string, tags.special(tags.string)], color: ink.string },
      { tag: [tags.number, tags.bool, tags.null], color: ink.number },
      { tag: tags.comment, color: ink.comment, fontStyle: "italic" },
      { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: ink.name },
      { tag: [tags.className, tags.typeName, tags.standard(tags.typeName)], color: ink.type },
    ]),
  );

const LIGHT = inked({ keyword: "#8f1d6b", string: "#0a5c2f", number: "#9a4600", comment: "#5a646d", name: "#0b4f94", type: "#5b2aa8" });
const DARK = inked({ keyword: "#f5a3d8", string: "#8ce99a", number: "#ffc078", comment: "#a3acb5", name: "#8cc8ff", type: "#cdb4ff" });

const looks = (dark: boolean): Extension =>
  EditorView.theme(
    {
      "&": { color: "var(--mantine-color-text)", backgroundColor: "var(--mantine-color-body)" },
      ".cm-gutters": { color: "var(--quiet)", backgroundColor: "var(--mantine-color-body)", borderRight: "1px solid var(--mantine-color-default-border)" },
      ".cm-fault": { backgroundColor: "var(--rejected-fill)" },
      "& .cm-changedText, & .cm-deletedText": { background: "none !important", textDecoration: "underline", textDecorationThickness: "1px", textUnderlineOffset: "3px" },
      "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)" },
      ".cm-collapsedLines": { color: "var(--mantine-color-text)", background: "var(--mantine-color-default-hover)" },
    },
    { dark },
  );

/** Everything common to viewing, editing and comparing; `label` names the text for who cannot see it. */
export const basics = (dark: boolean, label: string, isPython = true): Extension => [
  lineNumbers(),
  isPython ? kernelPython() : [],
  dark ? DARK : LIGHT,
  looks(dark),
  search(),
  highlightSelectionMatches(),
  keymap.of(searchKeymap),
  EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
];

/** Read, select, search and copy, but not change. The text keeps a place in the tab order, so that it can be scrolled. */
export const readOnly: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ role: "textbox", "aria-readonly": "true", "aria-multiline": "true" }),
];
