import { expect, test } from "vitest";
import { heatOf, linesBefore, parseListing } from "./machineCode";

const STORED = "0000 <kernel_0>:\n    1139:\tpush\n; line 12\n    113a:\tnop\n    113b:\tret\n\n0000 <other>:\n    1140:\tret\n; line 12\n    1141:\tret\n";

test("instructions are tied to the line they come from, and only to it", () => {
  const found = parseListing(STORED);
  expect(found.text.split("\n")).toEqual(["0000 <kernel_0>:", "    1139:\tpush", "    113a:\tnop", "    113b:\tret", "", "0000 <other>:", "    1140:\tret", "    1141:\tret"]);
  expect([...found.lineAt]).toEqual([[3, 12], [4, 12], [8, 12]]);
  expect(found.shownAt.get(12)).toEqual([3, 4, 8]);
});

test("GPU instructions are tied to their lines too, labels and declarations to none", () => {
  const sass = parseListing("silu:\n; line 6\n        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;\n.L_x_0:\n; line 6\n        /*0020*/                   EXIT ;\n");
  expect([...sass.lineAt]).toEqual([[2, 6], [4, 6]]);
  const ptx = parseListing(".visible .entry silu(\n{\n\t.reg .pred \t%p<2>;\n; line 5\n\tmov.u32 \t%r9, %ctaid.x;\n; line 6\n\t@%p1 ld.global.b32 { %r1 }, [ %rd1 ];\n}\n");
  expect([...ptx.lineAt]).toEqual([[4, 5], [5, 6]]);
});

test("a listing from before lines were recorded is shown as it is", () => {
  const old = "0000 <kernel_0>:\n    1139:\tpush";
  expect(parseListing(old)).toEqual({ text: old, lineAt: new Map(), shownAt: new Map() });
  expect(parseListing("").text).toBe("");
});

const CPP = '\n#include <math.h>\nextern "C" void kernel_0(float* x) {\n  x[0] = 1;\n}\n';

test("the compiled source's lines are found in the module", () => {
  const module = `"""A docstring."""\nimport torch\nSOURCE = r"""${CPP}"""\n`;
  const before = linesBefore(module)!;
  expect(before).toBe(2);
  expect(module.split("\n")[before + 4 - 1]).toBe("  x[0] = 1;"); // line 4 of the compiled source
});

test("where lines cannot be told, nothing is claimed", () => {
  expect(linesBefore("import torch")).toBeNull();
  expect(linesBefore(`A = r"""${CPP}"""\nB = r"""${CPP}"""`)).toBeNull();
  expect(linesBefore(`A = """${CPP}\\n"""`)).toBeNull();
});

test("a hundred thousand lines are taken apart within a moment", () => {
  const started = performance.now();
  const found = parseListing(Array.from({ length: 100_000 }, (_, at) => (at % 2 ? "    1139:\tnop" : `; line ${at}`)).join("\n"));
  expect(found.lineAt.size).toBe(50_000);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("heat grows with the share", () => {
  expect([0.001, 0.03, 0.1, 0.2, 0.9].map(heatOf)).toEqual([1, 2, 3, 4, 5]);
});
