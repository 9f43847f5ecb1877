import { expect, test } from "vitest";
import { cppWithin, kernelPython } from "./language";

const CPP = '#include <cmath>\nextern "C" void run(const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = x[i]; }\n';

test("a raw string with C++ in it is C++ between its quotes", () => {
  const literal = `r"""${CPP}"""`;
  expect(cppWithin(literal)).toEqual({ from: 4, to: literal.length - 3 });
});

test("prose, short strings and a string without an end are told apart", () => {
  expect(cppWithin('"""A long sentence about kernels; it goes on for more than sixty characters."""')).toBeNull();
  expect(cppWithin('"#include <a>"')).toBeNull();
  expect(cppWithin(`"""${CPP}`)).toEqual({ from: 3, to: CPP.length + 3 });
});

test("the string's content is parsed as C++ and the rest as Python", () => {
  const text = `SOURCE = r"""${CPP}"""\nclass ModelNew:\n    pass\n`;
  const tree = kernelPython().language.parser.parse(text);
  const names = new Set<string>();
  for (const at of [text.indexOf("void run") + 6, text.indexOf("class ModelNew") + 8]) {
    for (let node = tree.resolveInner(at, 1); ; node = node.parent!) {
      names.add(node.name);
      if (!node.parent) break;
    }
  }
  expect(names).toContain("FunctionDefinition");
  expect(names).toContain("ClassDefinition");
});
