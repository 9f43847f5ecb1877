"""Compiler flags a candidate may ask for: code generation and warnings, nothing that names files or programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

ALLOWED = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O([0-3sg]|fast)?",
        r"-f(no-)?(fast-math|math-errno|trapping-math|unsafe-math-optimizations|associative-math|reciprocal-math)",
        r"-f(no-)?(finite-math-only|signed-zeros|rounding-math|signaling-nans|unroll-loops|unroll-all-loops|peel-loops)",
        r"-f(no-)?(tree-vectorize|tree-slp-vectorize|tree-loop-vectorize|strict-aliasing|prefetch-loop-arrays|wrapv)",
        r"-f(no-)?(omit-frame-pointer|stack-protector|inline-functions|exceptions|rtti|plt|semantic-interposition)",
        r"-f(no-)?(openmp|openmp-simd|permissive|unswitch-loops|split-loops|loop-interchange|loop-nest-optimize)",
        r"-ffp-contract=(fast|on|off)",
        r"-fvect-cost-model=(unlimited|dynamic|cheap|very-cheap)",
        r"-fvisibility=(default|hidden)",
        r"-m(arch|tune)=[\w.+-]+",
        r"-mprefer-vector-width=(none|128|256|512)",
        r"-m(no-)?(avx|sse|ssse|fma|f16c|bmi|popcnt|lzcnt|amx|gfni|vaes|aes|movbe|adx)[\w.-]*",
        r"-mcpu=[\w.+-]+",
        r"-std=(c|gnu)\+\+(11|14|17|20|23|2a|2b)",
        r"-D\w+(=[\w.+\-*/() ]*)?",
        r"-U\w+",
        r"-W[a-z][\w=+-]*",
        r"-w",
        r"-g[0-3]?",
        r"--param=[\w-]+=\d+",
        r"-pthread",
        r"-l(m|pthread|gomp|dl|rt)",
        r"-l(openblas|mkl_rt|blas|cblas)",
    )
)


CUDA_ALLOWED = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O[0-3]",
        r"-std=c\+\+(14|17|20)",
        r"--?use_fast_math",
        r"--?(ftz|prec-div|prec-sqrt|fmad)=(true|false)",
        r"--?maxrregcount=\d+",
        r"--?(expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|restrict|extra-device-vectorization)",
        r"--?ptxas-options=(-v|-O[0-3]|-warn-spills|-dlcm=c[agsv])",
        r"-D\w+(=[\w.+\-*/() ]*)?",
        r"-U\w+",
        r"-w",
        r"-l(m|cuda|cudart)",
        r"-l(cublas|cublasLt|cudnn|cufft|cusparse|cusolver|curand)",
        r"-lineinfo",
    )
)
"""What nvcc may be asked for: neither its host compiler, nor files, nor other architectures. Whether a problem permits
a library of kernels is judged on what was built."""


def refused_flags(flags: Sequence[str], language: str = "cpp") -> list[str]:
    """The flags that are not permitted."""
    allowed = CUDA_ALLOWED if language.endswith("cuda") else ALLOWED
    return [flag for flag in flags if not any(pattern.fullmatch(flag) for pattern in allowed)]
