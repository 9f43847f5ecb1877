"""What a candidate may not do, as data: read by the screen (source text) and by the work rule (operators that ran)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One rule that a candidate's source breaks."""

    line: int
    """From 1, in the module; 0 for what stands in no line of it."""
    text: str
    hard: bool
    """Evidence (rejects) rather than a hint (makes suspicious)."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


BANNED_MODULES = {
    "asyncio": "starts work that outlives a call",
    "builtins": "replaces what the runner relies on",
    "code": "runs hidden code",
    "concurrent": "starts work that outlives a call",
    "ctypes": "reaches into the process's memory; call kernels through kernelwright_rt",
    "dis": "inspects code",
    "faulthandler": "inspects frames",
    "fcntl": "reaches for descriptors",
    "gc": "searches the process's objects",
    "importlib": "imports what the screen cannot see",
    "inspect": "walks frames",
    "linecache": "inspects code",
    "marshal": "runs hidden code",
    "mmap": "reaches into the process's memory",
    "multiprocessing": "starts processes",
    "pickle": "runs hidden code",
    "pty": "starts processes",
    "runpy": "runs hidden code",
    "services": "belongs to the referee",
    "signal": "interferes with the runner",
    "socket": "reaches for the network or the referee's connection",
    "subprocess": "starts processes",
    "threading": "starts work that outlives a call",
    "_thread": "starts work that outlives a call",
    "tracemalloc": "inspects the process",
    "unittest": "patches what the runner relies on",
    "weakref": "searches the process's objects",
    "workers": "belongs to the referee",
    "zlib": "unpacks hidden code",
    "atexit": "runs code outside forward",
    "glob": "looks for files",
    "io": "opens files",
    "posix": "reaches around the screen",
    "shelve": "opens files",
    "shutil": "opens files",
    "sqlite3": "opens files",
    "tempfile": "opens files",
    "imp": "imports what the screen cannot see",
    "pkgutil": "imports what the screen cannot see",
    "bz2": "unpacks hidden code",
    "lzma": "unpacks hidden code",
    "binascii": "unpacks hidden code",
    "base64": "unpacks hidden code",
    "codecs": "unpacks hidden code",
    "types": "makes hidden code",
}
HARMLESS_NAMES = frozenset({"types.SimpleNamespace", "types.MappingProxyType", "types.TracebackType"})
"""Imports that a banned module's rule does not mean."""
HARMLESS_LAYERS = frozenset({
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "Flatten", "Identity",
    "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Unflatten",
})  # fmt: skip
"""Layers that compute nothing, those that do so in evaluation among them."""
BANNED_CALLS = {
    "eval": "runs hidden code",
    "exec": "runs hidden code",
    "compile": "runs hidden code",
    "__import__": "imports what the screen cannot see",
    "globals": "reaches for names the screen cannot see",
    "locals": "reaches for names the screen cannot see",
    "vars": "reaches for names the screen cannot see",
    "open": "opens files",
    "breakpoint": "stops the runner",
    "input": "reads the runner's input",
    "exit": "ends the runner",
    "quit": "ends the runner",
    "delattr": "changes foreign objects",
    "setattr": "changes foreign objects",
}
BANNED_NAMES = {
    "os._exit": "ends the runner",
    "os.abort": "ends the runner",
    "os.fork": "starts processes",
    "os.forkpty": "starts processes",
    "os.kill": "interferes with the runner",
    "os.system": "starts processes",
    "os.popen": "starts processes",
    "os.write": "writes to foreign descriptors",
    "os.writev": "writes to foreign descriptors",
    "os.pwrite": "writes to foreign descriptors",
    "os.read": "reads foreign descriptors",
    "os.open": "opens files",
    "os.fdopen": "opens foreign descriptors",
    "os.dup": "reaches for descriptors",
    "os.dup2": "reaches for descriptors",
    "os.sendfile": "writes to foreign descriptors",
    "os.posix_spawn": "starts processes",
    "os.memfd_create": "reaches for descriptors",
    "os.environ": "changes how the runner behaves",
    "os.putenv": "changes how the runner behaves",
    "os.getenv": "sniffs its environment",
    "os.getppid": "sniffs its environment",
    "os.listdir": "looks for files",
    "os.scandir": "looks for files",
    "os.walk": "looks for files",
    "os.readlink": "looks for files",
    "os.register_at_fork": "runs code outside forward",
    "os.pipe": "reaches for descriptors",
    "os.execv": "starts processes",
    "os.set_inheritable": "reaches for descriptors",
    "sys.argv": "sniffs its environment",
    "sys.stdin": "reads the runner's input",
    "sys.addaudithook": "watches the runner",
    "sys.excepthook": "runs code outside forward",
    "sys.unraisablehook": "runs code outside forward",
    "sys.getrefcount": "inspects the process",
    "numpy.load": "opens files",
    "numpy.save": "opens files",
    "numpy.fromfile": "opens files",
    "numpy.memmap": "opens files",
    "torch.save": "opens files",
    "torch.from_file": "opens files",
    "torch.UntypedStorage.from_file": "opens files",
    "torch.futures": "starts work that outlives a call",
    "torch.library": "hides work from observation",
    "torch.distributed": "starts processes",
    "torch.profiler": "watches the runner",
    "torch.package": "runs hidden code",
    "torch.random": "interferes with the inputs' seeds",
    "sys.modules": "reaches into other modules",
    "sys._getframe": "walks frames",
    "sys._current_frames": "walks frames",
    "sys.settrace": "watches the runner",
    "sys.setprofile": "watches the runner",
    "sys.exit": "ends the runner",
    "sys.meta_path": "changes imports",
    "sys.path": "changes imports",
    "torch.compile": "has PyTorch write the kernel",
    "torch.jit": "has PyTorch write the kernel",
    "torch.ops": "calls library kernels by name",
    "torch._C": "reaches into PyTorch",
    "torch._dynamo": "has PyTorch write the kernel",
    "torch._inductor": "has PyTorch write the kernel",
    "torch.load": "runs hidden code",
    "torch.hub": "loads foreign code",
    "torch.multiprocessing": "starts processes",
    "torch.overrides": "hides work from observation",
    "torch.fx": "has PyTorch write the kernel",
    "torch.export": "has PyTorch write the kernel",
    "torch.utils._python_dispatch": "hides work from observation",
    "torch.manual_seed": "interferes with the inputs' seeds",
    "torch.seed": "interferes with the inputs' seeds",
    "torch.set_num_threads": "changes how the runner behaves",
    "torch.Tensor.__torch_function__": "hides work from observation",
}
BANNED_WITH_GRADIENTS = {
    "torch.autograd.grad": "has PyTorch derive the gradient",
    "torch.autograd.backward": "has PyTorch derive the gradient",
    "torch.autograd.functional": "has PyTorch derive the gradient",
    "torch.autograd.forward_ad": "has PyTorch derive the gradient",
    "torch.autograd.graph": "runs code outside forward and backward",
    "torch.autograd.Variable": "reaches into PyTorch's autograd",
    "torch.func": "has PyTorch derive the gradient",
    "torch.enable_grad": "has PyTorch derive the gradient",
    "torch.set_grad_enabled": "has PyTorch derive the gradient",
    "torch.utils.checkpoint": "has PyTorch derive the gradient",
}
"""Names that a candidate may not use where gradients are judged, in addition to `BANNED_NAMES`."""
GRAPH_HOOKS = {
    "register_hook": "runs code outside forward and backward",
    "register_prehook": "runs code outside forward and backward",
    "register_backward_hook": "runs code outside forward and backward",
    "register_full_backward_hook": "runs code outside forward and backward",
    "register_full_backward_pre_hook": "runs code outside forward and backward",
    "register_post_accumulate_grad_hook": "runs code outside forward and backward",
    "queue_callback": "runs code outside forward and backward",
    "_execution_engine": "reaches into PyTorch's autograd",
    "_backward_hooks": "runs code outside forward and backward",
}
"""The same of attributes."""
BANNED_ATTRIBUTES = {
    "__globals__": "reaches for names the screen cannot see",
    "__code__": "changes code",
    "__closure__": "changes code",
    "__builtins__": "replaces what the runner relies on",
    "__subclasses__": "searches the process's objects",
    "__bases__": "searches the process's objects",
    "__mro__": "searches the process's objects",
    "read_text": "opens files",
    "read_bytes": "opens files",
    "write_text": "opens files",
    "write_bytes": "opens files",
    "tofile": "opens files",
    "dump": "opens files",
    "from_file": "opens files",
    "__dict__": "reaches for names the screen cannot see",
    "__getattribute__": "hides what is called",
    "__import__": "imports what the screen cannot see",
    "__loader__": "imports what the screen cannot see",
    "__wrapped__": "changes code",
    "_ctypes": "reaches into the process's memory",
    "_objects": "reaches into the process's memory",
    "_FuncPtr": "reaches into the process's memory",
    "f_back": "walks frames",
    "f_builtins": "walks frames",
    "f_code": "walks frames",
    "gi_code": "changes code",
    "cr_frame": "walks frames",
    "ag_frame": "walks frames",
    "tb_next": "walks frames",
    "f_locals": "walks frames",
    "f_globals": "walks frames",
    "tb_frame": "walks frames",
    "gi_frame": "walks frames",
    "__torch_function__": "hides work from observation",
    "__torch_dispatch__": "hides work from observation",
    "_make_subclass": "returns something other than a tensor",
    "_make_wrapper_subclass": "returns something other than a tensor",
    "as_subclass": "returns something other than a tensor",
    "register_forward_hook": "runs code outside forward",
    "register_forward_pre_hook": "runs code outside forward",
}
HINTED_ATTRIBUTES = {
    "__file__": "reveals where a module lies: a kernel has no files next to it",
    "filename": "reveals where a module lies",
    "pathname": "reveals where a module lies",
}
"""Attributes and names that nothing but a look at the surroundings needs: hints."""
BANNED_IN_CPP = {
    "fork": "starts processes",
    "vfork": "starts processes",
    "clone": "starts processes",
    "execve": "starts processes",
    "execv": "starts processes",
    "execvp": "starts processes",
    "system": "starts processes",
    "popen": "starts processes",
    "ptrace": "reaches into other processes",
    "process_vm_readv": "reaches into other processes",
    "process_vm_writev": "reaches into other processes",
    "socket": "reaches for the network",
    "sendmsg": "writes to foreign descriptors",
    "recvmsg": "reads foreign descriptors",
    "send": "writes to foreign descriptors",
    "recv": "reads foreign descriptors",
    "dlopen": "loads foreign code",
    "dlsym": "reaches into other libraries",
    "mprotect": "changes code",
    "syscall": "hides what it does",
    "_exit": "ends the runner",
    "_Exit": "ends the runner",
    "quick_exit": "ends the runner",
    "exit": "ends the runner",
    "kill": "interferes with the runner",
    "raise": "interferes with the runner",
    "signal": "interferes with the runner",
    "sigaction": "interferes with the runner",
    "dup2": "reaches for descriptors",
    "setjmp": "interferes with the runner",
    "longjmp": "interferes with the runner",
    "atexit": "runs code outside forward",
    "at_quick_exit": "runs code outside forward",
    "pthread_atfork": "runs code outside forward",
    "fopen": "opens files",
    "freopen": "opens files",
    "fdopen": "opens files",
    "open": "opens files",
    "openat": "opens files",
    "opendir": "looks for files",
    "mmap": "reaches into the process's memory",
    "shm_open": "opens files",
    "memfd_create": "opens files",
    "getenv": "sniffs its environment",
    "secure_getenv": "sniffs its environment",
    "setenv": "changes how the runner behaves",
    "putenv": "changes how the runner behaves",
    "getppid": "sniffs its environment",
    "setitimer": "interferes with the runner",
    "timer_create": "interferes with the runner",
    "dl_iterate_phdr": "reaches into other libraries",
    "Py_GetInterpreterState": "reaches into the interpreter",
    "PyGILState_Ensure": "reaches into the interpreter",
    "PyRun_SimpleString": "runs hidden code",
}
"""Functions that a kernel's C++ source may not call."""

CLOCKS_IN_CPP = frozenset({
    "clock", "clock64", "clock_gettime", "gettimeofday", "timespec_get", "__rdtsc", "__rdtscp", "_rdtsc",
    "omp_get_wtime", "globaltimer", "time",
})  # fmt: skip
TYPES_IN_CPP = {
    "fstream": ("reads or writes files", True),
    "ifstream": ("reads or writes files", True),
    "ofstream": ("reads or writes files", True),
    "filebuf": ("reads or writes files", True),
    "filesystem": ("reads or writes files", True),
    "chrono": ("reads a clock: a kernel needs none", False),
}
"""Parts of qualified names, with what they are for and whether that is evidence."""
HEADERS_IN_CPP = {
    "sys/socket.h": "is for the network",
    "netinet/in.h": "is for the network",
    "arpa/inet.h": "is for the network",
    "netdb.h": "is for the network",
    "spawn.h": "starts processes",
    "sys/ptrace.h": "reaches into other processes",
    "sys/wait.h": "is for processes",
    "dlfcn.h": "loads foreign code",
    "link.h": "reaches into other libraries",
}
"""Hints: what a kernel's source has no need of."""

LIBRARY_ALIASES = {
    "matmul": {"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "mv", "addmv", "dot", "vdot", "einsum", "inner"},
    "linear": {"linear", "addmm", "mm", "matmul", "t"},
    "conv": {"convolution", "conv1d", "conv2d", "conv3d", "mkldnn_convolution", "_convolution", "slow_conv2d_forward"},
    "attention": {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"},
}
HEAVY = frozenset().union(*LIBRARY_ALIASES.values()) - {"t"} | {
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "tensordot", "chain_matmul", "outer", "kron", "cdist",
    "softmax", "log_softmax", "softmin", "layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm",
    "native_layer_norm", "native_group_norm", "native_batch_norm", "cross_entropy", "nll_loss", "mse_loss", "l1_loss",
    "huber_loss", "smooth_l1_loss", "kl_div", "cumsum", "cumprod", "logsumexp", "gelu", "silu", "relu", "elu", "selu",
    "leaky_relu", "hardtanh", "softplus", "softsign", "sigmoid", "tanh", "var", "var_mean", "std", "norm", "sort",
    "topk", "argsort", "mish", "hardsigmoid", "hardswish", "logsigmoid", "normalize", "cosine_similarity", "addcmul",
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "triplet_margin_loss",
    "lerp", "embedding",
}  # fmt: skip
"""Operators that are a kernel's whole work: a call of one on the hot path is evidence without running anything."""

CHEAP_OPERATORS = frozenset({
    "_conj", "_local_scalar_dense", "_neg_view", "_reshape_alias", "_reshape_copy", "_to_copy", "_unsafe_view",
    "alias", "arange",
    "as_strided", "clone", "contiguous", "copy_", "detach", "diagonal", "empty", "empty_like", "empty_strided",
    "expand", "fill_", "full", "full_like", "is_same_size", "lift_fresh", "movedim", "narrow", "new_empty",
    "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "permute", "reshape", "resize_",
    "scalar_tensor", "select", "set_", "size", "slice", "split", "split_with_sizes", "squeeze", "stride", "sym_size",
    "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex", "view_as_real", "zero_", "zeros",
    "zeros_like", "chunk", "constant_pad_nd", "cat", "stack", "pin_memory", "is_pinned", "storage_offset",
    "indices", "values", "_indices", "_values", "crow_indices", "col_indices", "ccol_indices", "row_indices",
})  # fmt: skip
"""Operators that allocate, view, copy or convert: no computation."""
COPYING_OPERATORS = frozenset({
    "_reshape_copy", "_to_copy", "cat", "clone", "constant_pad_nd", "copy_", "stack",
})  # fmt: skip
"""Those of them that write elements elsewhere: the main work where a problem's model does nothing else."""
CHECKING_OPERATORS = frozenset({
    "abs", "all", "amax", "amin", "aminmax", "any", "eq", "ge", "gt", "isfinite", "isinf", "isnan", "le",
    "logical_and", "logical_not", "logical_or", "lt", "max", "min", "mul", "ne",
})  # fmt: skip
"""Operators by which a kernel may check its arguments: little work compared with that of a model that does much."""

PERMITTED_MODULES = frozenset({
    "__future__", "abc", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum", "fractions",
    "functools", "hashlib", "itertools", "json", "kernelwright_rt", "logging", "math", "numbers", "numpy", "operator",
    "_operator", "os", "platform", "posixpath", "random", "re", "statistics", "string", "struct", "sys", "textwrap",
    "types", "typing", "typing_extensions", "warnings", "time", "timeit", "datetime", "triton", "cutlass", "cuda",
    "cupy", "tilelang", "helion", "einops", "packaging", "_abc", "_collections_abc", "_collections", "_functools",
    "_typing",
})  # fmt: skip
"""Roots of modules that a candidate's module may name. Clocks are among them: the screen calls those a hint."""
PERMITTED_TORCH = (
    "torch.amp", "torch.autograd", "torch.backends", "torch.cuda", "torch.fft", "torch.functional",
    "torch.linalg", "torch.nn", "torch.sparse", "torch.special", "torch.types", "torch.utils", "torch.version",
    "torch.return_types", "torch.cpu", "torch.func", "torch.masked", "torch.nested", "torch.signal",
    "torch.torch_version",
)  # fmt: skip
PERMITTED_IN_OS = frozenset({
    "path", "sep", "linesep", "name", "cpu_count", "process_cpu_count", "sched_getaffinity", "environ", "getenv",
    "fspath", "PathLike", "getpid",
})  # fmt: skip
"""Of `os`; the screen checks which variables are read."""
LIBRARY_FILES = {
    r"libcublas(?:Lt)?\.so\.\d+": frozenset({"matmul", "linear", "bmm", "mm", "addmm", "cublas"}),
    r"libcudnn\w*\.so\.\d+": frozenset({"conv", "convolution", "conv2d", "conv1d", "conv3d", "attention", "cudnn"}),
    r"libcufft\w*\.so\.\d+": frozenset({"fft", "cufft"}),
    r"libcusparse\w*\.so\.\d+": frozenset({"sparse", "cusparse"}),
    r"libcusolver\w*\.so\.\d+": frozenset({"linalg", "cusolver"}),
    r"libcurand\.so\.\d+": frozenset({"rand", "randn", "dropout", "curand"}),
    r"lib(?:mkl_\w+|openblas\w*|blas|cblas)\.so(?:\.\d+)*": frozenset(
        {"matmul", "linear", "bmm", "mm", "addmm", "mkl"}
    ),
}
"""Libraries of kernels by the names of their files, and the words of a problem's LIBRARY that permit each."""

CHEAP_IN_NUMPY = frozenset({
    "array", "asarray", "bool_", "ceil", "dtype", "empty", "empty_like", "finfo", "float16", "float32", "float64",
    "floor", "full", "iinfo", "int16", "int32", "int64", "int8", "intp", "log2", "ones", "prod", "sqrt", "uint8",
    "zeros", "zeros_like",
})  # fmt: skip
"""Functions of numpy that work out shapes and constants."""


def permitted(operator: str, library: frozenset[str]) -> bool:
    """Whether a problem or job allows a library operator; names stand for their family."""
    return any(operator == name or operator in LIBRARY_ALIASES.get(name, set()) for name in library)
