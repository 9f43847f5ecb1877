"""What the code of a resolver does, by what a disassembler says of it."""

import pytest

from workers.backends.disassembly import choosing

HEAD = "kernel.so:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
RESOLVER = """00000000000028d0 <run.resolver>:
    28d0:\tsub    $0x8,%rsp
    28d4:\tcall   1c00 <__cpu_indicator_init>
    28d9:\tlea    0x2750(%rip),%rax        # 5030 <__cpu_model>
    28e0:\tmov    0xc(%rax),%eax
    28e3:\ttest   $0x80,%ah
    28e6:\tje     28f4 <run.resolver+0x24>
    28e8:\tlea    -0x26f(%rip),%rax        # 26b0 <run.avx512f>
    28ef:\tadd    $0x8,%rsp
    28f3:\tret
    28f4:\tlea    -0x432(%rip),%rax        # 24c0 <run.default>
    28fb:\tjmp    28ef <run.resolver+0x1f>
    28fd:\tnopl   0x0(%rax,%rax,1)

0000000000002900 <run>:
    2900:\tmov    %eax,(%rdi)
    2902:\tret
"""
SPLIT = """0000000000001090 <run.resolver.cold>:
    1090:\tlea    0x1429(%rip),%rax        # 24c0 <run.default>
    1097:\tjmp    28ef <run.resolver+0x1f>

"""
AT = 0x28D0


def test_a_resolver_that_only_asks_the_processor_chooses() -> None:
    assert choosing(HEAD + RESOLVER, [AT]) == {AT}


def test_a_resolver_chooses_in_code_that_the_compiler_has_split_off() -> None:
    split = SPLIT + RESOLVER.replace("je     28f4 <run.resolver+0x24>", "je     1090 <run.resolver.cold>")
    assert choosing(HEAD + split, [AT]) == {AT}
    for instead in ("mov    %eax,(%rdi)", "call   2900 <run>", "jmp    2900 <run>", "jmp    *%rax"):
        assert choosing(HEAD + split.replace("jmp    28ef <run.resolver+0x1f>", instead), [AT]) == set()
    assert choosing(HEAD + split.replace("<run.resolver.cold>:", "<run.resolver.cold>"), [AT]) == set()


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("call   1c00 <__cpu_indicator_init>", "call   1c00 <other>"),
        ("call   1c00 <__cpu_indicator_init>", "call   *0x8(%rax)"),
        ("mov    0xc(%rax),%eax", "mov    %eax,0xc(%rax)"),
        ("mov    0xc(%rax),%eax", "mov    (%rax),%rsp"),
        ("mov    0xc(%rax),%eax", "movsl  %ds:(%rsi),%es:(%rdi)"),
        ("mov    0xc(%rax),%eax", "rep stos %al,%es:(%rdi)"),
        ("mov    0xc(%rax),%eax", "movl   $0x1,0x3354(%rip)        # 5030 <__cpu_model>"),
        ("mov    0xc(%rax),%eax", "ldmxcsr 0xc(%rsp)"),
        ("test   $0x80,%ah", "syscall"),
        ("test   $0x80,%ah", "xchg   %eax,(%rdi)"),
        ("je     28f4 <run.resolver+0x24>", "je     28f5 <run.resolver+0x25>"),
        ("jmp    28ef <run.resolver+0x1f>", "jmp    *%rax"),
        ("jmp    28ef <run.resolver+0x1f>", "jmp    2900 <run>"),
        ("jmp    28ef <run.resolver+0x1f>", "nop"),
        ("<run.resolver>:", "<run.resolver>"),
    ],
)
def test_a_resolver_that_does_anything_else_does_not(written: str, instead: str) -> None:
    assert choosing(HEAD + RESOLVER.replace(written, instead), [AT]) == set()


def test_what_is_not_listed_does_not() -> None:
    assert choosing("", [AT]) == set()
    assert choosing(HEAD + RESOLVER, [AT + 4]) == set()
