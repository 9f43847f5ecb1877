"""Kernelwright's run-time module: builds C++ and CUDA sources into shared libraries, calls their functions on tensors.

It lies next to every exported kernel and needs only Python, torch and a compiler (g++; nvcc for GPUs):

    import kernelwright_rt

    lib = kernelwright_rt.compile_cpp('''
    #include <cstdint>
    extern "C" void scale(const float* x, float* y, int64_t n, double factor) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * (float)factor;
    }''')

    y = torch.empty_like(x)
    lib.scale(x, y, x.numel(), 2.0)

Arguments: a tensor becomes the pointer to its data, None a null pointer; an int, a float and a bool become what the
source declares (`float`, `int32_t`, `bool`, …). A number of arguments that the source does not declare, a tensor for a
number and a fraction for a whole number raise `TypeError`. Where the declaration cannot be read (a macro writes it,
or its types are the source's own), an int is passed as an `int64_t`, a float as a `double`, a bool as an `int32_t`.

The caller allocates outputs; functions return nothing. A tensor must be on the CPU and contiguous, because its strides
are not passed; to hand over another one, pass `x.data_ptr()` and its strides as ints. Its elements must be as large as
those that the source declares: a tensor of bfloat16 for a `const float*` raises `TypeError`. Those of one size are not
told apart (bfloat16 may be passed as `uint16_t*`), complex numbers may be passed as their parts, and a `void*`, a
`char*` (bytes) and a type of the source's own take every tensor.

A C++ source that includes headers of torch (`torch/…`, `ATen/…`, `c10/…`; its vector classes, for one) is compiled with
those that the installed torch ships, and linked with its libraries.

`compile_cuda` does the same with nvcc: tensors must be on the GPU, and every function gets the current stream as a last
argument of type `cudaStream_t`. No header of torch is involved, so that a build takes about a second.

Where a library comes from: on its own, this module runs the compiler and keeps the result in a private directory,
`KERNELWRIGHT_RT_CACHE` or `~/.cache/kernelwright_rt`. Inside Kernelwright a worker builds it beforehand, and this
module only loads it from the directory in `KERNELWRIGHT_RT_ARTEFACTS`. GPU code is built for the GPU of this machine,
or for `KERNELWRIGHT_RT_CUDA_ARCH` (for example `90a`).
"""

from __future__ import annotations

import ctypes as _ctypes
import functools as _functools
import hashlib as _hashlib
import importlib.util as _importlib_util
import json as _json
import numbers as _numbers
import os as _os
import re as _re
import shutil as _shutil
import stat as _stat
import subprocess as _subprocess
import tempfile as _tempfile
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from importlib import metadata as _metadata
from pathlib import Path as _Path
from typing import Any as _Any

__all__ = ["CompileError", "LaunchError", "Library", "compile_cpp", "compile_cuda"]

COMPILER = "g++"
BASE_FLAGS = ("-O3", "-march=native", "-fopenmp", "-std=c++20", "-shared", "-fPIC")
CUDA_COMPILER = "nvcc"
CUDA_FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-lineinfo")
CUDA_EPILOGUE = """
#include <cuda_runtime_api.h>
extern "C" int kernelwright_last_error() { return (int)cudaGetLastError(); }
extern "C" const char* kernelwright_error_text(int code) { return cudaGetErrorString((cudaError_t)code); }
"""
"""Added to every CUDA source: the runtime is linked statically, so that torch would not see its errors."""
CACHE_VARIABLE = "KERNELWRIGHT_RT_CACHE"
ARTEFACTS_VARIABLE = "KERNELWRIGHT_RT_ARTEFACTS"
ARCHITECTURE_VARIABLE = "KERNELWRIGHT_RT_CUDA_ARCH"

TORCH_HEADERS = _re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", _re.MULTILINE)
"""What tells that a source needs torch's headers."""

Builder = _Callable[[str, "tuple[str, ...]", str], str]
"""Builds a source with further flags in a language (`cpp`, `cpp_torch`, `cuda`) and returns the path of the library."""

_builder: Builder | None = None
_located: set[str] = set()
"""Paths of libraries that are about to be loaded."""


class CompileError(RuntimeError):
    """The compiler refused a source, or there is no compiler; the message holds all it said."""


class LaunchError(RuntimeError):
    """CUDA refused a launch: more threads or shared memory than there are, an earlier kernel that failed, …"""


class Library:
    """A loaded shared library that `compile_cpp` or `compile_cuda` gave; every `extern "C"` function is an attribute.

    It offers what its own source defines: neither other libraries, nor what the libraries define that it needs."""

    def __init__(self, path: str, language: str = "cpp", source: str = "") -> None:
        """Raises `ValueError` for a path that this module has not just built or found. `source`: what it was built
        from, which says what its functions take."""
        if path not in _located:
            raise ValueError("libraries come from compile_cpp and compile_cuda")
        _located.discard(path)
        self._path = path
        self._language = language
        self._source = source
        self._address_of = _own_addresses(path)

    def __getattr__(self, name: str) -> Function:
        """Look a function up once; later accesses find it as a plain attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        address = self._address_of(name)
        if not address:
            raise AttributeError(f'the source defines no extern "C" function `{name}`')
        cuda = None if self._language == "cpp" else _Cuda(name, self._address_of)
        parameters = _parameters(self._source, name)
        sizes = [_element_bytes(self._source, text) for text, _ in parameters or ()]
        function = Function(name, address, cuda, parameters, sizes)
        setattr(self, name, function)
        return function

    def __repr__(self) -> str:
        return f"<Library {self._path}>"


class _Place(_ctypes.Structure):
    """What `dladdr` says of an address."""

    _fields_ = (
        ("file", _ctypes.c_char_p),
        ("base", _ctypes.c_void_p),
        ("symbol", _ctypes.c_char_p),
        ("address", _ctypes.c_void_p),
    )


def _own_addresses(path: str) -> _Callable[[str], int]:
    """Loads a library, and tells where its own functions are: 0 for what others define, as the C library. The loader's
    handle stays in here, since it would give those too."""
    library = _ctypes.CDLL(path)
    tell = _ctypes.CDLL(None)["dladdr"]

    def address_of(name: str) -> int:
        try:
            address = _ctypes.cast(library[name], _ctypes.c_void_p).value or 0
        except (AttributeError, ValueError):
            return 0
        place = _Place()
        is_known = tell(_ctypes.c_void_p(address), _ctypes.byref(place))
        return address if is_known and _is_file(place.file, path) else 0

    return address_of


def _is_file(loaded: bytes | None, path: str) -> bool:
    """Whether the loader's name of a library means this file: the same name, or another one of the same file."""
    if loaded is None or loaded == _os.fsencode(path):
        return loaded is not None
    try:
        return _Path(_os.fsdecode(loaded)).samefile(path)
    except OSError:
        return False


class Function:
    """One C function; calls are bound once per combination of argument types."""

    def __init__(
        self,
        name: str,
        address: int,
        cuda: _Cuda | None = None,
        parameters: _Parameters | None = None,
        element_bytes: _Sequence[int] = (),
    ) -> None:
        """`element_bytes`: of what each parameter points to, 0 where that is not known."""
        self.name = name
        self._address = address
        self._cuda = cuda
        self._parameters = parameters
        self._element_bytes = element_bytes
        self._calls: dict[tuple[type, ...], _Callable[..., None]] = {}

    def __call__(self, *arguments: object) -> None:
        """Call it. Raises `TypeError` for arguments that it does not take, `ValueError` for a tensor or number that it
        must not get."""
        call = self._calls.get(tuple(map(type, arguments)))
        if call is None:
            call = self._bind(arguments)
        call(*arguments)

    def _bind(self, arguments: tuple[object, ...]) -> _Callable[..., None]:
        kinds = [_kind(self.name, position, argument) for position, argument in enumerate(arguments)]
        declared = self._declared(kinds)
        types = [_C_TYPES[_passed(*both)] for both in zip(kinds, declared, strict=True)]
        types += [] if self._cuda is None else [_ctypes.c_void_p]
        target = _ctypes.CFUNCTYPE(None, *types)(self._address)
        sizes = [size if kind == "tensor" else 0 for kind, size in zip(kinds, self._element_bytes, strict=False)]
        taken = [(text, size) for (text, _), size in zip(self._parameters or (), sizes, strict=False)]
        call = _specialise(self.name, kinds, declared, target, self._cuda, taken)
        self._calls[tuple(map(type, arguments))] = call
        return call

    def _declared(self, kinds: list[str]) -> list[str]:
        """What the source declares for each argument, empty where that is not known. Raises `TypeError`."""
        if self._parameters is None:
            return [""] * len(kinds)
        taken = len(self._parameters)
        numbers = (taken,) if self._cuda is None else (taken - 1, taken)  # the stream comes by itself
        if len(kinds) not in numbers:
            listed = ", ".join(text for text, _ in self._parameters[: numbers[0]])
            raise TypeError(f"{self.name}() takes {numbers[0]} arguments ({listed}), not {len(kinds)}")
        for position, (kind, (text, declared)) in enumerate(zip(kinds, self._parameters, strict=False)):
            remedy = _mismatch(kind, declared)
            if remedy:
                article = "" if kind == "none" else "an " if kind == "int" else "a "
                shown = "None" if kind == "none" else kind
                raise TypeError(
                    f"{self.name}(): argument {position} is {article}{shown}, and the source takes `{text}`: {remedy}"
                )
        return [declared for _, declared in self._parameters[: len(kinds)]]


class _Cuda:
    """What a call on the GPU needs besides its arguments: the current stream, and CUDA's last error."""

    def __init__(self, name: str, address_of: _Callable[[str], int]) -> None:
        import torch

        self._name = name
        text = _ctypes.CFUNCTYPE(_ctypes.c_char_p, _ctypes.c_int)
        self._text = text(address_of("kernelwright_error_text"))
        self.error = _ctypes.CFUNCTYPE(_ctypes.c_int)(address_of("kernelwright_last_error"))
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # 0.1 µs; the public way takes 3 µs
        device = torch.cuda.current_device() if torch.cuda.is_available() else 0
        self.stream: _Callable[[], int] = (
            _functools.partial(raw, device) if raw else lambda: torch.cuda.current_stream().cuda_stream
        )

    def fail(self, code: int) -> None:
        """Raise what CUDA says of an error."""
        raise LaunchError(f"{self._name}(): {self._text(code).decode(errors='replace')} (CUDA error {code})")


_C_TYPES: dict[str, _Any] = {
    "pointer": _ctypes.c_void_p,
    "bool": _ctypes.c_bool,
    "float": _ctypes.c_float,
    "double": _ctypes.c_double,
    **{f"{sign}int{bits}": getattr(_ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_UNDECLARED = {"tensor": "pointer", "none": "pointer", "bool": "int32", "int": "int64", "float": "double"}
"""How each kind of argument is passed where the source's declaration is not known."""
_CONVERSIONS = {"tensor": "{0}.data_ptr()", "none": "None", "bool": "{0}", "int": "int({0})", "float": "float({0})"}


def _passed(kind: str, declared: str) -> str:
    """The type that an argument is passed as; one for a reference is passed as its address."""
    return "pointer" if declared == "reference" else declared or _UNDECLARED[kind]


def _mismatch(kind: str, declared: str) -> str:
    """What to do where the source declares something else than what is passed; empty where the two agree."""
    if declared == "half":
        return "take a float"
    if not declared:
        return ""
    if declared in ("pointer", "reference"):
        if kind in ("bool", "float"):
            return "pass a tensor, or take it by value"
        return "take it by value, or pass a tensor" if declared == "reference" and kind != "tensor" else ""
    if kind == "tensor":
        return "pass a number (.item() of a tensor, or its .data_ptr())"
    if kind == "none":
        return "pass a number"
    return "pass int(…), or take a double" if kind == "float" and declared not in ("float", "double") else ""


def _kind(function: str, position: int, argument: object) -> str:
    import torch

    if isinstance(argument, torch.Tensor):
        return "tensor"
    if argument is None:
        return "none"
    if isinstance(argument, bool):
        return "bool"
    if isinstance(argument, _numbers.Integral):
        return "int"
    if isinstance(argument, _numbers.Real):
        return "float"
    raise TypeError(
        f"{function}(): argument {position} is a {type(argument).__name__}; pass tensors, ints, floats, bools or None"
    )


def _specialise(
    name: str, kinds: list[str], declared: list[str], target: _Any, cuda: _Cuda | None, taken: list[tuple[str, int]]
) -> _Callable[..., None]:
    """A Python function for one list of kinds, without loops or tests of type: an empty call takes about 1 µs.

    `taken`: how each parameter is written, and the bytes of what it points to, 0 where those do not count."""
    names = [f"a{position}" for position in range(len(kinds))]
    tensors = [argument for argument, kind in zip(names, kinds, strict=True) if kind == "tensor"]
    place = "is_cpu" if cuda is None else "is_cuda"
    tests = [f"{argument}.{place} and {argument}.is_contiguous()" for argument in tensors]
    tests += [f"{argument}.element_size() == {size}" for argument, (_, size) in zip(names, taken, strict=False) if size]
    test = " and ".join(tests)
    values = [_CONVERSIONS[kind].format(argument) for argument, kind in zip(names, kinds, strict=True)]
    values = [
        f"float({value})" if one in ("float", "double") and kind != "float" else value
        for value, kind, one in zip(values, kinds, declared, strict=True)
    ]
    lines = [f"def call({', '.join(names)}):"]
    if tensors:
        lines.append(f"    if not ({test}): refuse({', '.join(['taken', *names])})")
    for argument, kind, one in zip(names, kinds, declared, strict=True):
        narrow = _re.fullmatch(r"u?int(8|16|32)", one)
        if kind == "int" and narrow:  # either sign: a seed may be written as the one or as the other
            bits = int(narrow[1])
            test = f"{-(1 << bits - 1)} <= {argument} < {1 << bits}"
            lines.append(f"    if not {test}: exceed({names.index(argument)}, {argument}, '{one}_t')")
    scope: dict[str, _Any] = {
        "target": target,
        "taken": taken,
        "refuse": _functools.partial(_refuse, name, place),
        "exceed": _functools.partial(_exceed, name),
    }
    if cuda is None:
        lines.append(f"    target({', '.join(values)})")
    else:
        lines += [f"    target({', '.join([*values, 'stream()'])})", "    code = error()", "    if code: fail(code)"]
        scope |= {"stream": cuda.stream, "error": cuda.error, "fail": cuda.fail}
    exec("\n".join(lines), scope)  # noqa: S102 - made of position numbers only
    call: _Callable[..., None] = scope["call"]
    return call


def _refuse(function: str, place: str, taken: list[tuple[str, int]], *arguments: _Any) -> None:
    """Say which tensor cannot be handed over; of complex numbers as their parts, none."""
    for position, argument in enumerate(arguments):
        if not hasattr(argument, "data_ptr"):
            continue
        if not getattr(argument, place):
            wanted = "CPU" if place == "is_cpu" else "GPU"
            raise ValueError(f"{function}(): argument {position} is on {argument.device}, not on the {wanted}")
        if not argument.is_contiguous():
            raise ValueError(
                f"{function}(): argument {position} is not contiguous (shape {tuple(argument.shape)}, strides "
                f"{argument.stride()}); call .contiguous(), or pass .data_ptr() and the strides"
            )
        text, size = taken[position] if position < len(taken) else ("", 0)
        if size and argument.element_size() != size * (2 if argument.is_complex() else 1):
            raise TypeError(
                f"{function}(): argument {position} is a tensor of {str(argument.dtype).removeprefix('torch.')}, and "
                f"the source takes `{text}`, of {size} bytes an element: convert it, or pass .data_ptr()"
            )


def _exceed(function: str, position: int, value: int, declared: str) -> None:
    raise ValueError(f"{function}(): argument {position} is {value}, which is no {declared}; take an int64_t")


_Parameters = list[tuple[str, str]]
"""Of a function in a source: each parameter as it is written, and what it is: a name in `_C_TYPES`, `reference` or
`half`, empty where that is not known."""
_SPLICES = _re.compile(r"\\[ \t]*\n")
_NO_CODE = _re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)"|(?<!\w)"C"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])*\'',
    _re.DOTALL,
)
_MACRO = _re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\()?([^\n]*)$", _re.MULTILINE)
_DIRECTIVE = _re.compile(r"^[ \t]*#[^\n]*$", _re.MULTILINE)
_ALIAS = _re.compile(
    r"\busing\s+(?P<new>\w+)\s*=(?P<old>[^;{}]*);|\btypedef\b(?P<before>[^;{}()]*?)\b(?P<last>\w+)\s*;"
)
_C_LINKAGE = "\x01"
"""Stands for the text in `extern "C"` once a source is read."""
_BLOCK = _re.compile(rf"\bextern\s*{_C_LINKAGE}\s*\{{")
_QUALIFIERS = _re.compile(
    r"\b(?:const|volatile|restrict|__restrict(?:__)?|register|struct|std)\b|::|\[\[.*?\]\]|\balignas\s*\([^()]*\)"
    r"|\b__attribute__\s*\(\(.*?\)\)(?=\s*\w)"
)
_WORDS = frozenset({"unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "_Bool"})
_NAMED = {
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("size_t", "uintptr_t", "uintmax_t"), "uint64"),
    **dict.fromkeys(("ssize_t", "ptrdiff_t", "intptr_t", "intmax_t"), "int64"),
    **dict.fromkeys(("_Float16", "__bf16", "__half", "half", "__nv_bfloat16", "nv_bfloat16"), "half"),
}


def _parameters(source: str, function: str) -> _Parameters | None:
    """What a function of a source takes; None where its `extern "C"` declaration cannot be read, or says two things."""
    code, macros, types = _read(source)
    found = []
    for place in _re.finditer(rf"\b{_re.escape(function)}\s*\(", code):
        written = _between(code, place.end(), "()")
        following = code[place.end() + len(written) + 1 :].lstrip()
        before = code[max(code.rfind(end, 0, place.start()) for end in ";{}") + 1 : place.start()]
        is_declared = _re.match(r"(?:noexcept\b|__attribute__\b[^;{}]*|\[\[[^;{}]*)?\s*(?:\{|;)", following)
        if is_declared and _C_LINKAGE in _expanded(before, macros):
            found.append([_parameter(one, macros, types) for one in _split(_expanded(written, macros))])
    if not found or any(one != found[0] for one in found) or None in found[0]:
        return None
    return [one for one in found[0] if one is not None]


@_functools.lru_cache
def _read(source: str) -> tuple[str, dict[str, str | None], dict[str, str | None]]:
    """A source without comments, texts and directives, each function in a block of `extern "C"` marked as such; its
    macros and its names for types. None stands for those that cannot be followed."""
    code = _NO_CODE.sub(lambda found: _C_LINKAGE if found.group() == '"C"' else " ", _SPLICES.sub(" ", source))
    macros: dict[str, str | None] = {}
    for name, takes, body in _MACRO.findall(code):
        macros[name] = None if takes or macros.get(name, body) != body else body
    code = _DIRECTIVE.sub("", code)
    types: dict[str, str | None] = {}
    for alias in _ALIAS.finditer(code):
        name, old = alias["new"] or alias["last"], alias["old"] or alias["before"]
        types[name] = None if types.get(name, old) != old else old
    for block in reversed(list(_BLOCK.finditer(code))):
        inside = _between(code, block.end(), "{}")
        code = code[: block.start()] + ";" + _marked(inside) + ";" + code[block.end() + len(inside) + 1 :]
    return code, macros, types


def _marked(inside: str) -> str:
    """What stands in a block of `extern "C"`, with that before each of its functions."""
    depth, marked = 0, [_C_LINKAGE]
    for character in inside:
        depth += {"{": 1, "}": -1}.get(character, 0)
        marked.append(f"{character}{_C_LINKAGE}" if depth == 0 and character in ";}" else character)
    return "".join(marked)


def _between(code: str, start: int, pair: str) -> str:
    """What stands from behind a bracket that was opened to before the one that closes it."""
    depth, end = 1, start
    while end < len(code):
        depth += {pair[0]: 1, pair[1]: -1}.get(code[end], 0)
        if depth == 0:
            break
        end += 1
    return code[start:end]


def _expanded(text: str, macros: dict[str, str | None]) -> str:
    """A text with the source's macros in it replaced; `?` for one that takes arguments or has two meanings."""

    def meaning(found: _re.Match[str]) -> str:
        body = macros.get(found.group(), found.group())
        return "?" if body is None else body

    for _ in range(4):
        text = _re.sub(r"\w+", meaning, text)
    return text


def _split(written: str) -> list[str]:
    """Parameters between commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in written:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    texts = [" ".join(part.split()) for part in parts]
    return [] if texts in ([""], ["void"]) else texts


def _parameter(text: str, macros: dict[str, str | None], types: dict[str, str | None]) -> tuple[str, str] | None:
    """One parameter, as `_Parameters` holds it; None where it may stand for several, or for none."""
    plain = _QUALIFIERS.sub(" ", text.split("=")[0])
    if not plain.strip() or _re.search(r"[^\w\s*&\[\]<>,]", plain):
        return None
    if "&" in plain:
        return text, "reference"
    if "*" in plain or "[" in plain:
        return text, "pointer"
    words = plain.split()
    built_in = [word for word in words if word in _WORDS]
    if "<" in plain:
        return text, ""
    if len(words) - len(built_in) > (1 if built_in else 2) or (
        not built_in and len(words) == 1 and words[0] not in _NAMED
    ):
        return None
    if built_in:
        return text, _built_in(built_in)
    old = types.get(words[0])
    if old is None:
        return text, "" if words[0] in types else _NAMED.get(words[0], "")
    inner = _parameter(_expanded(old, macros), macros, {name: t for name, t in types.items() if name != words[0]})
    return text, "" if inner is None else inner[1]


def _element_bytes(source: str, text: str) -> int:
    """Size of what a parameter of a source points to; 0 where it may be anything: `void`, bytes, a pointer, a type that
    is not known."""
    _, macros, types = _read(source)
    plain = _QUALIFIERS.sub(" ", text.split("=")[0])
    before, mark, after = _re.sub(r"\[[^\]]*\]", "[", plain).replace("*", "\0*").replace("[", "\0[").partition("\0")
    words = before.split() if after.startswith("*") else before.split()[:-1]
    if not mark or "\0" in after or not words:
        return 0
    inner = _parameter(f"{' '.join(words)} element", macros, types)
    if inner is None or "char" in words or inner[1] in ("", "pointer", "reference"):
        return 0
    return 2 if inner[1] == "half" else _ctypes.sizeof(_C_TYPES[inner[1]])


def _built_in(words: list[str]) -> str:
    """A type that is written in the language's own words, on a machine whose `long` has 64 bits."""
    if "double" in words:
        return "" if "long" in words else "double"
    for word in ("float", "bool", "_Bool"):
        if word in words:
            return word.removeprefix("_").lower()
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return f"{'u' if 'unsigned' in words else ''}int{bits}"


def compile_cpp(source: str, flags: _Sequence[str] = ()) -> Library:
    """Build a C++ source (once per source, flags, compiler and processor) and load it. Raises `CompileError`.

    It is compiled with `g++ -O3 -march=native -fopenmp -std=c++20 -shared -fPIC` and then `flags`; where it includes
    headers of torch, with their directory and torch's libraries besides. `-ffast-math` and `-Ofast` change the code
    alone: denormal numbers stay what they are in the rest of the process.
    """
    language = language_of(str(source))
    separate = _separate(flags)
    return _loaded(locate(str(source), separate, language), "cpp", str(source), separate)


def language_of(source: str) -> str:
    """`cpp_torch` for a C++ source that includes headers of torch, else `cpp`."""
    return "cpp_torch" if TORCH_HEADERS.search(source) else "cpp"


def compile_cuda(source: str, flags: _Sequence[str] = ()) -> Library:
    """Build a CUDA source (once per source, flags, compiler and architecture) and load it. Raises `CompileError`.

    It is compiled with `nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -lineinfo` for one architecture, and then `flags`.
    Its `extern "C"` functions run on the host: they take the current `cudaStream_t` last and launch kernels on it.
    Calls raise `LaunchError` where CUDA refuses the launch.
    """
    separate = _separate(flags)
    return _loaded(locate(str(source), separate, "cuda"), "cuda", str(source), separate)


def _loaded(path: str, language: str, source: str, flags: _Sequence[str]) -> Library:
    _located.add(path)
    return Library(path, language, with_macros(source, flags))


def with_macros(source: str, flags: _Sequence[str]) -> str:
    """A source with the macros that its flags define: what is said in either place is said."""
    given = [flag.removeprefix("-D").partition("=") for flag in flags if flag.startswith("-D")]
    return "\n".join([source, *(f"#define {name} {value if equals else 1}" for name, equals, value in given)])


def _separate(flags: _Sequence[str]) -> tuple[str, ...]:
    if isinstance(flags, str):
        raise TypeError("flags must be a sequence of strings, one for each flag")
    return tuple(str(flag) for flag in flags)


def set_builder(builder: Builder | None) -> None:
    """Have libraries built by someone else (Kernelwright's compile stage)."""
    global _builder
    _builder = builder


def locate(source: str, flags: tuple[str, ...], language: str) -> str:
    """Path of the library of a source: built by someone else, built beforehand, or built here. Raises `CompileError`.

    The languages `torch` and `torch_cuda` (sources with torch's headers) are only ever built by someone else."""
    if _builder is not None:
        return _builder(source, flags, language)
    directory = _os.environ.get(ARTEFACTS_VARIABLE)
    if directory is None:
        return _build_here(source, flags, language)
    path = _Path(directory) / artefact_name(source, flags, language)
    if not path.exists():
        raise CompileError(
            f"this source was not built at the compile stage: call {_caller(language)} when the module is imported, "
            "with a source that does not depend on the inputs"
        )
    return str(path)


def _caller(language: str) -> str:
    return "load_inline" if language.startswith("torch") else f"compile_{language.split('_')[0]}"


def artefact_name(source: str, flags: _Sequence[str], language: str = "cpp", architecture: str | None = None) -> str:
    """File name of a library: a hash of what it is built from; its directory stands for toolchain and processor.

    `architecture` is what GPU code is built for, by default what `cuda_architecture` says of this machine."""
    given = list(flags) if language.endswith("cuda") else compiler_flags(flags)
    parts: list[_Any] = [source, given, list(BASE_FLAGS)]
    if language == "cuda":
        parts = [source, given, list(CUDA_FLAGS), CUDA_EPILOGUE, architecture or cuda_architecture()]
    elif language != "cpp":
        target = (architecture or cuda_architecture()) if language == "torch_cuda" else ""
        parts = [source, given, language, _metadata.version("torch"), target]
        parts += [list(BASE_FLAGS)] if language == "cpp_torch" else []
    text = _json.dumps(parts)
    return f"{_hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}.so"


def command(
    source: str, output: str, flags: _Sequence[str], language: str = "cpp", architecture: str | None = None
) -> list[str]:
    """The compiler's command line. Raises `CompileError` where CUDA's compiler or architecture is not known."""
    if language == "cpp":
        return [COMPILER, *BASE_FLAGS, *compiler_flags(flags), source, "-o", output]
    if language == "cpp_torch":
        given = [*_torch_headers(), *compiler_flags(flags)]
        return [COMPILER, *BASE_FLAGS, *given, source, "-o", output, *_torch_libraries()]
    target = architecture or cuda_architecture()
    code = f"-gencode=arch=compute_{target},code=sm_{target}"
    return [cuda_compiler(), *CUDA_FLAGS, code, *flags, source, "-o", output]


def compiler_flags(flags: _Sequence[str]) -> list[str]:
    """Flags for g++, of which those for fast mathematics reach the compiler alone.

    Told of them, g++ (before version 13) links code that has the whole process flush denormal numbers to zero."""
    fast = {"-ffast-math": ["-Wp,-ffast-math"], "-Ofast": ["-O3", "-Wp,-ffast-math"]}
    fast |= {flag: [f"-Wp,{flag}"] for flag in ("-fno-fast-math", "-funsafe-math-optimizations")}
    return [one for flag in flags for one in fast.get(flag, [flag])]


def torch_directory() -> _Path:
    """Where torch is installed. Raises `CompileError`."""
    found = _importlib_util.find_spec("torch")
    if found is None or found.origin is None:
        raise CompileError("torch is not installed: this source includes its headers (pip install torch)")
    return _Path(found.origin).parent


def _torch_headers() -> list[str]:
    """As system headers, whose warnings the author cannot act on."""
    return ["-isystem", str(torch_directory() / "include")]


def _torch_libraries() -> list[str]:
    """Those that torch has loaded already when a library that needs them is loaded."""
    return [f"-L{torch_directory() / 'lib'}", "-ltorch_cpu", "-lc10"]


def cuda_compiler() -> str:
    """Path of nvcc: on `PATH`, below `CUDA_HOME`, or where CUDA is usually installed. Raises `CompileError`."""
    for place in (None, f"{_os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin", "/usr/local/cuda/bin"):
        found = _shutil.which(CUDA_COMPILER, path=place)
        if found is not None:
            return found
    raise CompileError(f"no CUDA compiler: {CUDA_COMPILER} is neither on PATH nor in /usr/local/cuda/bin")


def cuda_architecture() -> str:
    """What GPU code is built for, for example `90a`: `KERNELWRIGHT_RT_CUDA_ARCH`, else this machine's GPU.

    Raises `CompileError` where there is neither."""
    named = _os.environ.get(ARCHITECTURE_VARIABLE)
    if named:
        return named
    import torch

    if not torch.cuda.is_available():
        raise CompileError(f"this machine has no GPU to build for; set {ARCHITECTURE_VARIABLE}, for example to 90a")
    major, minor = torch.cuda.get_device_capability()
    return architecture_of(major, minor)


def architecture_of(major: int, minor: int) -> str:
    """A compute capability as nvcc names it, with the features of exactly that one from Hopper on."""
    return f"{major}{minor}a" if major >= 9 else f"{major}{minor}"


@_functools.cache
def cuda_toolchain() -> str:
    """nvcc's version, for example `nvcc 13.0.88`. Raises `CompileError` without it."""
    try:
        found = _subprocess.run([cuda_compiler(), "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, _subprocess.SubprocessError) as error:
        raise CompileError(f"the CUDA compiler does not work: {error}") from None
    version = _re.search(r"V(\d[\d.]*)", found.stdout)
    return f"{CUDA_COMPILER} {version.group(1) if version else found.stdout.split()[-1]}"


@_functools.cache
def toolchain() -> str:
    """Compiler, version and the processor's instruction set. Raises `CompileError` without a compiler."""
    try:
        found = _subprocess.run([COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True, timeout=60)
    except FileNotFoundError:
        raise CompileError(f"no C++ compiler: {COMPILER} is not installed (apt install {COMPILER})") from None
    except (OSError, _subprocess.SubprocessError) as error:
        raise CompileError(f"the C++ compiler does not work: {error}") from None
    features = processor_features()
    shown = " ".join(name for name in features if _re.fullmatch(r"avx\d*f?|fma|amx_tile|asimd|sve\d?", name))
    digest = _hashlib.sha256(" ".join(features).encode()).hexdigest()[:8]
    return f"{COMPILER} {' '.join(found.stdout.split())} -march=native ({shown or 'baseline'}; {digest})"


@_functools.cache
def processor_features() -> tuple[str, ...]:
    """Instruction-set extensions as the kernel lists them, sorted."""
    try:
        text = _Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    line = _re.search(r"^(?:flags|Features)\s*:(.*)$", text, _re.MULTILINE)
    return tuple(sorted(line.group(1).split())) if line else ()


def toolchain_key(language: str = "cpp") -> str:
    """A short directory name for the toolchain."""
    names = toolchain() if language.startswith("cpp") else f"{cuda_toolchain()} with {toolchain()}"
    return _hashlib.sha256(names.encode()).hexdigest()[:16]


def _build_here(source: str, flags: tuple[str, ...], language: str) -> str:
    """Build into our own cache, unless it is there."""
    directory = _private(_cache_directory()) / toolchain_key(language)
    target = directory / artefact_name(source, flags, language)
    if target.exists():
        return str(target)
    directory.mkdir(mode=0o700, exist_ok=True)
    with _tempfile.TemporaryDirectory(dir=directory) as scratch:
        file = file_name(language)
        _Path(scratch, file).write_text(complete(source, language), encoding="utf-8")
        line = command(file, "kernel.so", flags, language)
        try:
            done = _subprocess.run(line, cwd=scratch, capture_output=True, text=True, check=False)
        except OSError as error:
            raise CompileError(f"cannot run {line[0]}: {error.strerror}") from None
        if done.returncode != 0:
            raise CompileError(f"{_Path(line[0]).name} failed:\n{done.stdout}{done.stderr}")
        _Path(scratch, "kernel.so").replace(target)
    return str(target)


def file_name(language: str) -> str:
    """What a source's file is called when it is compiled."""
    return "kernel.cpp" if language.startswith("cpp") else "kernel.cu"


def complete(source: str, language: str) -> str:
    """A source as it is compiled."""
    return source if language.startswith("cpp") else source + CUDA_EPILOGUE


def _cache_directory() -> _Path:
    named = _os.environ.get(CACHE_VARIABLE)
    if named:
        return _Path(named)
    base = _os.environ.get("XDG_CACHE_HOME")
    try:
        home = _Path(base) if base else _Path.home() / ".cache"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _os.access(home, _os.W_OK):
            return home / "kernelwright_rt"
    except (OSError, RuntimeError):
        pass
    return _Path(_tempfile.gettempdir()) / f"kernelwright_rt-{_os.getuid()}"


def _private(directory: _Path) -> _Path:
    """The directory, made with mode 0700. What lies in it is loaded into the process: no other user may write there."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not _stat.S_ISDIR(found.st_mode) or found.st_uid != _os.getuid() or found.st_mode & 0o022:
        raise CompileError(f"{directory} is not a directory of our own; set {CACHE_VARIABLE} to one")
    return directory
