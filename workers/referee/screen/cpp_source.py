"""C++ and CUDA source as the rules see it: calls, names, headers, attributes and assembly; never comments or texts.

Read by tree-sitter where its packages are installed (`tree-sitter`, `tree-sitter-cpp`, `tree-sitter-cuda`: small wheels
without dependencies), else by a scanner of our own that blanks comments, texts and characters first. A bare GPU node
may lack the packages; what each reader misses is in `docs/decisions/0014-reading-kernel-sources.md`.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, order=True, kw_only=True)
class Mention:
    """A name in the source, and the line (from 1) it stands in."""

    line: int
    name: str
    arguments: str = ""
    """Of a call: what stands between its parentheses, where the reader reports it."""


@dataclass(kw_only=True)
class SourceFacts:
    """What a source does, by name."""

    calls: list[Mention] = field(default_factory=list)
    """Functions that are called, never methods; `::f` and `std::f` as they are written."""
    mentions: list[Mention] = field(default_factory=list)
    """Names that are used without being called, macros' bodies included."""
    types: list[Mention] = field(default_factory=list)
    headers: list[Mention] = field(default_factory=list)
    attributes: list[Mention] = field(default_factory=list)
    assembly: list[Mention] = field(default_factory=list)
    """The text of each piece of inline assembly."""
    functions: set[str] = field(default_factory=set)
    """Free functions that the source itself defines."""
    own: set[str] = field(default_factory=set)
    """Those, and its variables, parameters, fields and namespaces."""


def read_cpp(text: str, *, cuda: bool = False) -> SourceFacts:
    """A source, or a piece of one."""
    parser = _parser("cuda" if cuda or "__global__" in text else "cpp")
    return scan_cpp(text) if parser is None else _parsed(parser, text)


@functools.cache
def _parser(language: str) -> Any | None:
    try:
        library = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(f"tree_sitter_{language}")
        return library.Parser(library.Language(grammar.language()))
    except (ImportError, OSError, ValueError, TypeError):
        return _parser("cpp") if language == "cuda" else None


def _parsed(parser: Any, text: str) -> SourceFacts:
    reading = SourceFacts()
    queue = [parser.parse(text.encode(errors="replace")).root_node]
    while queue:
        node = queue.pop()
        if node.type in ("comment", "string_literal", "raw_string_literal", "char_literal"):
            continue
        read = _READERS.get(node.type)
        if read is not None:
            read(reading, node)
        queue.extend(reversed(node.children))
    return reading


def _call(reading: SourceFacts, node: Any) -> None:
    name = _free_name(node.child_by_field_name("function"))
    if name is not None and not _is_method(node, name):
        given = node.child_by_field_name("arguments")
        reading.calls.append(Mention(line=node.start_point[0] + 1, name=name, arguments=_text(given) if given else ""))


def _is_method(node: Any, name: str) -> bool:
    """Whether a call inside of a class means a method that the class itself defines."""
    while node is not None:
        body = node.child_by_field_name("body") if node.type in ("struct_specifier", "class_specifier") else None
        for member in body.named_children if body is not None else ():
            declared = member.child_by_field_name("declarator") if member.type == "function_definition" else None
            if declared is not None and declared.type == "function_declarator":
                inner = declared.child_by_field_name("declarator")
                if inner is not None and inner.type == "field_identifier" and _text(inner) == name:
                    return True
        node = node.parent
    return False


def _free_name(node: Any) -> str | None:
    """The name of a function, its scopes included: `f` of `f` and `(f)`, `::f`, `std::f`; None for methods."""
    if node is None:
        return None
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return _free_name(node.named_children[0])
    if node.type == "template_function":
        return _free_name(node.child_by_field_name("name"))
    if node.type == "identifier":
        return _text(node)
    if node.type == "qualified_identifier":
        return "".join(_text(node).split())
    return None


def _identifier(reading: SourceFacts, node: Any) -> None:
    parent = node.parent
    if parent is not None and parent.type == "call_expression" and parent.child_by_field_name("function") == node:
        return
    reading.mentions.append(_mention(node, _text(node)))


def _qualified(reading: SourceFacts, node: Any) -> None:
    reading.types.append(_mention(node, _text(node).replace(" ", "")))


def _declared(reading: SourceFacts, node: Any) -> None:
    """The name that a variable, parameter or field declares, or a function that has a body."""
    inner = node.child_by_field_name("declarator")
    is_function = False
    while inner is not None and inner.type not in ("identifier", "field_identifier"):
        is_function = is_function or inner.type == "function_declarator"
        following = inner.child_by_field_name("declarator")
        inner = following or next(
            (c for c in inner.named_children if c.type in ("identifier", "field_identifier")), None
        )
    if inner is None:
        return
    is_defined = is_function and node.type == "function_definition"
    value = node.child_by_field_name("value")
    is_lambda = value is not None and value.type == "lambda_expression"
    if (is_defined or is_lambda) and inner.type == "identifier":
        reading.functions.add(_text(inner))
    if is_defined or not is_function:
        reading.own.add(_text(inner))


def _named(reading: SourceFacts, node: Any) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        reading.own.add(_text(name))


def _used_space(reading: SourceFacts, node: Any) -> None:
    """`namespace fs = std::filesystem` and `using namespace std::chrono`."""
    name = _text(node).rstrip("; ").replace("=", " ").split()[-1]
    reading.types.append(_mention(node, name))


def _header(reading: SourceFacts, node: Any) -> None:
    path = node.child_by_field_name("path")
    if path is not None:
        reading.headers.append(_mention(node, _text(path).strip("<>\"' ")))


def _macro(reading: SourceFacts, node: Any) -> None:
    """The body of a macro is no tree: it is scanned."""
    value = node.child_by_field_name("value")
    if value is None:
        return
    body, line = scan_cpp(_text(value)), node.start_point[0]
    reading.calls += [Mention(line=line + one.line, name=one.name) for one in body.calls]
    reading.mentions += [Mention(line=line + one.line, name=one.name) for one in body.mentions]
    reading.assembly += [Mention(line=line + one.line, name=one.name) for one in body.assembly]


def _assembly(reading: SourceFacts, node: Any) -> None:
    reading.assembly.append(_mention(node, _text(node)))


def _attribute(reading: SourceFacts, node: Any) -> None:
    reading.attributes.append(_mention(node, _text(node)))


_READERS = {
    "call_expression": _call,
    "identifier": _identifier,
    "type_identifier": _qualified,
    "qualified_identifier": _qualified,
    "function_definition": _declared,
    "init_declarator": _declared,
    "declaration": _declared,
    "parameter_declaration": _declared,
    "optional_parameter_declaration": _declared,
    "field_declaration": _declared,
    "enumerator": _named,
    "namespace_definition": _named,
    "namespace_alias_definition": _used_space,
    "using_declaration": _used_space,
    "struct_specifier": _named,
    "class_specifier": _named,
    "preproc_include": _header,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
    "gnu_asm_expression": _assembly,
    "asm_statement": _assembly,
    "attribute_specifier": _attribute,
    "attribute_declaration": _attribute,
}


def _text(node: Any) -> str:
    text: bytes = node.text
    return text.decode(errors="replace")


def _mention(node: Any, name: str) -> Mention:
    return Mention(line=node.start_point[0] + 1, name=name)


_NOISE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL,
)
_WORD = re.compile(r"(?P<before>\.|->|[\w>]\s+[*&]*|)(?P<name>(?:\w+\s*::\s*|::\s*)*\b[A-Za-z_]\w*)\s*(?P<call>\(?)")
_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]?([^>\"\n]*)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]", re.DOTALL)
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__|__asm)\b[^(;{]*\(")
_DEFINED = re.compile(r"[\w>&*]\s+[*&]*([A-Za-z_]\w*)\s*\([^;{}()]*\)\s*(?:const|noexcept)?\s*\{")
_VARIABLE = re.compile(r"[\w>]\s*[*&]*\s+[*&]*([A-Za-z_]\w*)\s*(?:=|,|\)|\[|;)")
_ENUMERATION = re.compile(r"\benum\b[^{};]*\{([^{}]*)\}")
_LAMBDA = re.compile(r"\bauto\s+([A-Za-z_]\w*)\s*=\s*\[")
_KEYWORD = re.compile(r"^(?:return|else|throw|case|co_return)(?=::)")
_NO_TYPES = ("return", "else", "new", "delete", "throw", "case", "goto", "typename", "using", "co_return")


def scan_cpp(text: str) -> SourceFacts:
    """The same by the scanner."""
    code = _HEADER.sub(_blank, _NOISE.sub(_blank, text))
    reading = SourceFacts()
    reading.functions = set(_DEFINED.findall(code)) | set(_LAMBDA.findall(code))
    reading.own = reading.functions | set(_VARIABLE.findall(_without_keywords(code)))
    for listed in _ENUMERATION.findall(code):
        reading.own |= set(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", listed))
    for found in _WORD.finditer(code):
        if found["before"] in (".", "->"):
            continue
        one = Mention(
            line=_line(code, found.start("name")),
            name=_KEYWORD.sub("", re.sub(r"\s", "", found["name"])),
            arguments=_between(text, code, found.end()) if found["call"] else "",
        )
        reading.types.append(one)
        (reading.calls if found["call"] else reading.mentions).append(one)
    reading.headers = [Mention(line=_line(text, one.start()), name=one[1]) for one in _HEADER.finditer(text)]
    reading.attributes = [Mention(line=_line(code, one.start()), name=one[0]) for one in _ATTRIBUTE.finditer(code)]
    reading.assembly = list(_assembly_in(text, code))
    return reading


def _between(text: str, code: str, start: int) -> str:
    """What stands from a parenthesis that was opened to where it closes."""
    return f"({text[start : _closed(code, start)]}"


def _assembly_in(text: str, code: str) -> Iterator[Mention]:
    for found in _ASSEMBLY.finditer(code):
        yield Mention(line=_line(code, found.start()), name=text[found.start() : _closed(code, found.end())])


def _closed(code: str, start: int) -> int:
    """Behind where a parenthesis closes that was opened before `start`."""
    depth, end = 1, start
    while end < len(code) and depth:
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        end += 1
    return end


def _without_keywords(code: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(_NO_TYPES)})\b", "(", code)


def _blank(found: re.Match[str]) -> str:
    """As many characters and lines, without their meaning."""
    return re.sub(r"[^\n]", " ", found.group())


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
