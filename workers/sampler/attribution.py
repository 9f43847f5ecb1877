"""Whose code a candidate's time was spent in: samples, by the file and function that they lie in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from workers.sampler.maps import CodeMap
from workers.sampler.maps import Mapping as CodeMapping
from workers.sampler.perf_events import Sample
from workers.sampler.symbols import symbols_of

MAX_FUNCTIONS = 400
"""More than the kernels of any model: what a problem permits is told by name, and MKL has a dozen for one product."""
MAX_PLACES = 4000


class Symbols(Protocol):
    """The functions of a file."""

    def name_at(self, offset: int) -> str:
        """The function at an offset of the file; empty where there is none."""


class Owner(StrEnum):
    """Whose code."""

    OWN = "own"
    """The library that the compile stage built."""
    LIBRARY = "library"
    """A kernel of PyTorch or of a library beside it."""
    GENERATED = "generated"
    """Code in memory that no file stands behind."""
    MATH = "math"
    """The C library's mathematics, one element a call."""
    VECTOR_MATH = "vector_math"
    """Mathematics of a whole vector a call: the C library's, and SLEEF's in PyTorch."""
    MOVING = "moving"
    """Copying and filling memory: PyTorch's and the C library's."""
    OPENMP = "openmp"
    """Waiting for and handing out work: OpenMP's threads, and those of PyTorch's pthreadpool."""
    PYTHON = "python"
    """The interpreter and the protocol."""
    KERNEL = "kernel"
    """The operating system: page faults, mostly."""
    OTHER = "other"


_PYTORCH = re.compile(r"libtorch_cpu\.so.*|libtorch_cuda\.so.*|libtorch\.so.*")
_KERNELS = re.compile(r"lib(?:mkl|openblas|scipy_openblas|blas|cblas|dnnl|fbgemm|onednn|xnnpack|lapack)\w*[.-].*")
_NUMERIC = re.compile(r"(?:_multiarray_umath|_umath_linalg|_simd|_pocketfft\w*)\..*|numba.*|_sparsetools\..*")
_MATHEMATICS = re.compile(r"libm[.-].*")
_VECTOR_MATHEMATICS = re.compile(r"libmvec[.-].*|libsleef.*")
_SLEEF = re.compile(r"Sleef_\w+|_ZGV[bcden]\w+")
_OPENMP = re.compile(r"lib(?:gomp|iomp5|omp)[.-].*")
_C_LIBRARY = re.compile(r"libc[.-].*|ld-linux.*|libpthread.*")
_INTERPRETER = re.compile(
    r"(?:libpython|python|libtorch_python|libc10|libffi|libstdc\+\+|libgcc_s|_ctypes|libz).*|.*\.cpython-.*"
)
_COPYING = re.compile(
    r"copy_kernel|direct_copy|fill_kernel|memcpy|memset|memmove|copy_device_to|_copy_|4copy|5copy_|copy_impl|copy_transpose"
)
_IDLE = re.compile(r"thread_main")
"""The loop of pthreadpool's threads. `torch.set_num_threads` starts one a core, and each spins 1,000,000 times before
it sleeps: with five evaluations at once on 16 cores, up to 83 % of the samples at work. What they are given to do has
names of its own."""
_COMPILED = re.compile(
    r"(?:7DEFAULT|4AVX2|6AVX512|6SVE256)\w|2at8internal15invoke_parallel|callback_fnI\w*2at|^_ZZNK?2at6native|"
    r"N2at6native12_GLOBAL__N_1|^_ZSt\w+2at6native|2at3vec"
)
"""Functions of operators' kernels: compiled for an instruction set, given to a loop over elements, or private."""
_OF_LIBRARY = re.compile(
    r"(?i)^(?:_?mkl_|cblas_|dnnl_|fbgemm|xnn_|nnp_|[sdcz]gem[mv]|[sdcz]dot|[sdcz]axpy)|dnnl|ideep|fbgemm|xbyak|"
    r"mkl_(?:blas|dft|vml|lapack|sparse)|_vml|N3at6native|gemm"
)

_OVERHEAD = re.compile(
    r"_Z+(?:T[WH])?N?[KVRO]*(?:2at(?!\d*6native)|3c10|5torch|S[tabs]|9__gnu_cxx)|_Z+(?!N?[KVRO]*\d)|_(?:init|fini)$"
)
"""Functions that find out which kernel to call, and the standard library's."""
_CHEAP = re.compile(
    r"_Z+N[KVRO]*2at6nativeL?\d*(?:_?(?:empty|new_|resize|as_strided|re?shape|unsafe_view|view|expand|slice|select|narrow|"
    r"permute|transpose|t(?:ER|_|E)|n?umel|squeeze|unsqueeze|movedim|detach|alias|to(?:ER|_)|item|local_scalar|is_|size|"
    r"stride|set_|zeros|ones|full|contiguous|clone|split|unbind|chunk|cat|stack|arange|scalar_tensor|diagonal|unfold|"
    r"lift|constant_pad|pin_)|DispatchStub|\w*[dD]ispatch)"
)
"""Of operators' plain functions, those that allocate, view or choose a kernel."""


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Where samples lie."""

    samples: int
    by_owner: Mapping[str, int]
    functions: Mapping[str, int]
    """Of libraries: the functions most samples lie in, by name."""
    places: Mapping[str, Mapping[int, int]]
    """Of the candidate's own libraries, by file: samples by offset in the file."""
    by_thread: Mapping[int, int]
    """Samples outside of the interpreter, by thread."""


def attribute(
    samples: Iterable[Sample],
    windows: Sequence[tuple[float, float]],
    own: Mapping[str, int],
    *,
    maps: Callable[[int], CodeMap] = CodeMap.of,
    symbols: Callable[[str], Symbols | None] = symbols_of,
) -> Attribution:
    """Samples inside of windows (seconds on the monotonic clock). `own`: the built files, with their inodes."""
    codes: dict[int, CodeMap] = {}
    owners: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    threads: Counter[int] = Counter()
    places: dict[str, Counter[int]] = {}
    for sample in _inside(samples, windows):
        if sample.process not in codes:
            codes[sample.process] = maps(sample.process)
        found = None if sample.in_kernel else codes[sample.process].find(sample.address)
        owner, function = _owner(sample, found, own, symbols)
        owners[owner.value] += 1
        if function:
            functions[function] += 1
        if owner not in (Owner.PYTHON, Owner.KERNEL):
            threads[sample.thread] += 1
        if owner is Owner.OWN and found is not None:
            places.setdefault(found.name, Counter())[sample.address - found.start + found.offset] += 1
    return Attribution(
        samples=sum(owners.values()),
        by_owner=dict(owners),
        functions=dict(functions.most_common(MAX_FUNCTIONS)),
        places={name: dict(found.most_common(MAX_PLACES)) for name, found in places.items()},
        by_thread=dict(threads),
    )


def _inside(samples: Iterable[Sample], windows: Sequence[tuple[float, float]]) -> Iterable[Sample]:
    """Both in order of time."""
    ranges = sorted((int(1e9 * start), int(1e9 * end)) for start, end in windows)
    index = 0
    for sample in samples:
        while index < len(ranges) and ranges[index][1] < sample.time_ns:
            index += 1
        if index == len(ranges):
            return
        if ranges[index][0] <= sample.time_ns:
            yield sample


def _owner(
    sample: Sample,
    found: CodeMapping | None,
    own: Mapping[str, int],
    symbols: Callable[[str], Symbols | None],
) -> tuple[Owner, str]:
    """Whose code a sample is in, and the function of a library that it is."""
    if sample.in_kernel:
        return Owner.KERNEL, ""
    if found is None:
        return Owner.OTHER, ""
    if not found.path or found.path.startswith(("/dev/zero", "[anon", "/memfd:", "[heap", "[stack")):
        return Owner.GENERATED, ""
    name = found.name
    if own.get(name) == found.inode:
        return Owner.OWN, ""
    for pattern, owner in _BY_FILE:
        if pattern.fullmatch(name):
            return owner, name if owner is Owner.LIBRARY else ""
    if _PYTORCH.fullmatch(name):
        return _of_pytorch(found, sample.address, symbols)
    if _C_LIBRARY.fullmatch(name):
        return _of_c(found, sample.address, symbols), ""
    return (Owner.PYTHON if _INTERPRETER.fullmatch(name) else Owner.OTHER), ""


_BY_FILE = (
    (_KERNELS, Owner.LIBRARY),
    (_NUMERIC, Owner.LIBRARY),
    (_MATHEMATICS, Owner.MATH),
    (_VECTOR_MATHEMATICS, Owner.VECTOR_MATH),
    (_OPENMP, Owner.OPENMP),
)


def _of_pytorch(found: CodeMapping, address: int, symbols: Callable[[str], Symbols | None]) -> tuple[Owner, str]:
    """What copies moves, idle threads wait; what finds out which kernel to call is listed; the rest does work, whatever
    it is called."""
    table = symbols(found.path)
    name = "" if table is None else table.name_at(address - found.start + found.offset)
    if not name:
        return Owner.OTHER, ""
    if _IDLE.fullmatch(name):
        return Owner.OPENMP, ""
    if _COPYING.search(name):
        return Owner.MOVING, ""
    if _SLEEF.fullmatch(name):
        return Owner.VECTOR_MATH, ""
    if _COMPILED.search(name) or _OF_LIBRARY.search(name) or not (_OVERHEAD.match(name) or _CHEAP.match(name)):
        return Owner.LIBRARY, name
    return Owner.PYTHON, ""


def _of_c(found: CodeMapping, address: int, symbols: Callable[[str], Symbols | None]) -> Owner:
    table = symbols(found.path)
    name = "" if table is None else table.name_at(address - found.start + found.offset)
    return Owner.MOVING if re.search(r"mem(?:cpy|move|set)|memset|avx_unaligned", name) else Owner.PYTHON
