"""What a gate found, as a prompt shows it."""

from __future__ import annotations

from agents.prompts.gate_evidence import errors_first

GPP = """In file included from /usr/include/c++/12/cmath:45,
                 from k.cpp:2:
k.cpp: In function 'void run(const float*, float*, int64_t)':
k.cpp:7:9: warning: unused variable 'a' [-Wunused-variable]
    7 |     int a;
      |         ^
k.cpp:12:20: error: 'vexp' was not declared in this scope
   12 |     y[i] = vexp(x[i]);
      |            ^~~~
k.cpp:3:7: note: suggested alternative: 'exp'
k.cpp:14:2: error: expected ';' before '}' token"""


def test_a_compilers_errors_come_first_and_whole() -> None:
    text = errors_first(GPP)

    assert text.startswith("k.cpp:12:20: error: 'vexp' was not declared in this scope\n   12 |     y[i] = vexp(x[i]);")
    assert text.index("note: suggested") < text.index("expected ';'") < text.index("warning: unused")
    assert sorted(text.splitlines()) == sorted(GPP.splitlines()), "nothing is left out"
    assert errors_first("k.cu(12): warning: x\nk.cu(14): error: y") == "k.cu(14): error: y\nk.cu(12): warning: x"
    assert errors_first("no diagnostics\nhere") == "no diagnostics\nhere"
