/** Python, with the C++ and CUDA in its strings as what they are. */
import { cppLanguage } from "@codemirror/lang-cpp";
import { pythonLanguage } from "@codemirror/lang-python";
import { LanguageSupport } from "@codemirror/language";
import { parseMixed } from "@lezer/common";

const LEAST = 60;
/** What a C++ source has and a sentence has not. */
const CPP = /#include\s*[<"]|extern\s+"C"|__global__|\btemplate\s*</;
const QUOTES = /^[rRbBuUfF]{0,2}("""|'''|"|')/;

/** Where the text between a string's quotes begins and ends, if it is C++; null for anything else. */
export function cppWithin(literal: string): { from: number; to: number } | null {
  const quotes = QUOTES.exec(literal);
  if (!quotes || literal.length < LEAST || !CPP.test(literal)) return null;
  const [opening, mark] = [quotes[0], quotes[1]!];
  const to = literal.endsWith(mark) && literal.length >= opening.length + mark.length ? literal.length - mark.length : literal.length;
  return { from: opening.length, to };
}

const mixed = pythonLanguage.configure({
  wrap: parseMixed((node, input) => {
    if (node.name !== "String") return null;
    const inside = cppWithin(input.read(node.from, node.to));
    return inside && { parser: cppLanguage.parser, overlay: [{ from: node.from + inside.from, to: node.from + inside.to }] };
  }),
});

export const kernelPython = (): LanguageSupport => new LanguageSupport(mixed);
