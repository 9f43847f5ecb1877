"""A name that a text, a pattern or a built-in function's value speaks of is judged like one that is written out."""

import ast

import pytest

from workers.referee.screen.dynamic_names import spoken_names


def said(source: str) -> list[str]:
    return [one.text for one in spoken_names(ast.parse(source))]


@pytest.mark.parametrize(
    "source",
    [
        "reduce(getattr, ('a',), b)",
        "g = getattr",
        "[eval][0]('1')",
        "def f(eval): pass\ng = eval",
        "class A:\n  eval = 1\n  g = vars",
        "def f():\n  global eval\n  eval = 1\n  return eval",
        "if False:\n  open = 1\nf = open",
        "print.__self__.eval('1')",
        "a.__spec__.loader",
        "a.__class__.__base__",
        "a.__reduce_ex__(4)",
        "a.__getattr__('sys')",
        "object.__setattr__(a, 'b', 1)",
        "match a:\n  case object(__globals__=b): pass",
        "match a:\n  case {'k': object(f_back=b)}: pass",
        "class A:\n  __match_args__ = ('__globals__',)",
        "class A:\n  __match_args__ = names",
        "@dataclass\nclass A:\n  __self__: int",
        "type('A', (), {})",
        "'{0.__globals__}'.format(a)",
        "'{a.b[__self__]}'.format(a=a)",
        "t = '{0.__globals__}'\nt.format(a)",
        "__package__ = 'torch'",
        "x.numpy().ctypes._as",
        "lib._library['getppid']()",
    ],
)
def test_a_name_that_is_spoken_of_is_judged(source: str) -> None:
    assert said(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(input, compile=False): return g(input, compile)",
        "input = g()\nf(input)",
        "f = [h(vars) for vars in b]",
        "def f():\n  open = 1\n  return g(open)",
        "getattr(a, 'b', None)\nhasattr(a, 'b')",
        "class A(B):\n  def __getattr__(self, name): return super().__getattr__(name)",
        "class A(B):\n  def __init__(self): super().__init__(); object.__setattr__(self, 'a', 1)",
        "'{0.shape} {n:>{width}}'.format(a, n=1, width=3)\n'{}'.format(a)",
        "t = 'void f() { g({x}); } {{}}'\nt.format(x=3)",
        "match a:\n  case object(shape=(n, m)): pass",
        "a.__class__.__name__\n__file__\n__name__",
        "@dataclass\nclass A:\n  b: int\n  __slots__ = ('b',)",
        "type(a)(1)",
        "class A:\n  def f(self): self._table = 1\ndef g(a): return a._table",
        "lib = compile_cpp('void _run(int n) {}')\nlib._run(3)",
        "import torch as t\nt._foreach_add\na._asdict()",
        "class A(B):\n  def f(self): return self._unknown",
    ],
)
def test_what_honest_code_says_is_permitted(source: str) -> None:
    assert said(source) == []
