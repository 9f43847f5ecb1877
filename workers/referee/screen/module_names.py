"""Which names of permitted modules a kernel may use, where not every one is harmless.

A name that reads or calls something by a text (`attrgetter`, `string.Formatter`), evaluates a text (`get_type_hints`,
`timeit`), or reaches for files, processes or other modules is on no list. Of modules that are not here every public
name is permitted: they compute, or hold constants and types.
"""

from __future__ import annotations

_LISTS = {
    "abc": "ABC ABCMeta abstractmethod abstractproperty abstractclassmethod abstractstaticmethod",
    "contextlib": "ContextDecorator ExitStack AbstractContextManager closing contextmanager nullcontext suppress",
    "copy": "copy deepcopy replace Error",
    "dataclasses": "dataclass field fields asdict astuple replace is_dataclass Field InitVar KW_ONLY MISSING "
    "FrozenInstanceError",
    "enum": "Enum IntEnum StrEnum Flag IntFlag auto unique EnumMeta EnumType CONTINUOUS STRICT CONFORM EJECT KEEP",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering "
    "update_wrapper wraps WRAPPER_ASSIGNMENTS WRAPPER_UPDATES",
    "json": "dumps loads JSONDecodeError JSONEncoder JSONDecoder",
    "logging": "getLogger Logger NullHandler StreamHandler CRITICAL DEBUG ERROR FATAL INFO NOTSET WARN WARNING "
    "critical debug disable error exception getLevelName info log warn warning LoggerAdapter",
    "operator": "abs add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv "
    "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le "
    "length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    "platform": "architecture machine platform processor python_implementation python_version python_version_tuple "
    "release system version",
    "string": "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
    "punctuation whitespace",
    "posixpath": "basename commonpath commonprefix curdir dirname extsep isabs join normcase normpath pardir sep split "
    "splitext",
    "sys": "byteorder executable float_info getrecursionlimit getsizeof hexversion implementation int_info intern "
    "maxsize platform prefix setrecursionlimit stderr stdout version version_info",
    "timeit": "default_timer",
    "torch.utils.cpp_extension": "load_inline load CUDA_HOME ROCM_HOME CUDNN_HOME include_paths library_paths "
    "CppExtension CUDAExtension BuildExtension IS_HIP_EXTENSION IS_WINDOWS IS_MACOS IS_LINUX",
    "types": "SimpleNamespace MappingProxyType TracebackType FunctionType MethodType ModuleType NoneType EllipsisType",
    "warnings": "catch_warnings filterwarnings simplefilter warn resetwarnings warn_explicit",
}
PERMITTED_NAMES = {module: frozenset(names.split()) for module, names in _LISTS.items()}
REFUSED_NAMES = {
    "numpy": frozenset({
        "DataSource", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt", "savez",
        "savez_compressed", "show_runtime", "info", "source", "get_include",
    }),
    "typing": frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref"}),
    "typing_extensions": frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref", "get_annotations"}),
    "torch": frozenset({
        "classes", "PyTorchFileReader", "PyTorchFileWriter", "import_ir_module", "import_ir_module_from_buffer",
        "set_num_interop_threads", "fork", "wait", "ScriptModule", "CompilationUnit", "ScriptFunction",
    }),
}  # fmt: skip
"""Of modules with hundreds of names, those that are not harmless."""
PERMITTED_SUBMODULES = {
    "numpy": frozenset(
        {"numpy.linalg", "numpy.fft", "numpy.random", "numpy.typing", "numpy.dtypes", "numpy.exceptions"}
    ),
    "torch.utils": frozenset({"torch.utils.cpp_extension", "torch.utils.dlpack", "torch.utils.checkpoint"}),
    "logging": frozenset(),
    "triton": frozenset(
        {
            "triton.language",
            "triton.experimental",
            "triton.runtime.driver",
            "triton.runtime.autotuner",
            "triton.runtime.errors",
            "triton.runtime.jit",
            "triton.tools.tensor_descriptor",
            "triton.tools.experimental_descriptor",
            "triton.tools.mxfp",
        }
    ),
    "json": frozenset({"json.decoder"}),
}
"""Of packages whose modules are not all harmless."""
PERMITTED_PACKAGES = frozenset({"triton.runtime", "triton.tools"})
"""Of those, packages that hold harmless names and modules that are not."""
REFUSED_SUBMODULES = (
    "torch.autograd.profiler",
    "torch.autograd.profiler_util",
    "torch.nn.parallel",
    "torch.cuda.profiler",
)


PERMITTED_OF_STREAMS = frozenset({
    "write", "flush", "encoding", "major", "minor", "micro", "name", "version", "max", "min", "eps", "dig",
    "mant_dig", "max_exp", "min_exp", "startswith", "split", "epsilon", "cache_tag", "bits_per_digit", "radix",
})  # fmt: skip
"""Of what `sys` holds: streams are written to, the rest is read."""


def is_permitted_submodule(module: str) -> bool:
    """Whether a module of a permitted package is one that a kernel may use."""
    if module in REFUSED_SUBMODULES or module in PERMITTED_PACKAGES:
        return module in PERMITTED_PACKAGES
    return all(
        module in permitted or any(module.startswith(f"{one}.") for one in permitted)
        for package, permitted in PERMITTED_SUBMODULES.items()
        if module.startswith(f"{package}.")
    )


def is_permitted_name(module: str, name: str) -> bool:
    """Whether a name of a permitted module is one that a kernel may use."""
    if module in PERMITTED_NAMES:
        return name in PERMITTED_NAMES[module] or name == "__version__"
    return name not in REFUSED_NAMES.get(module, ())
