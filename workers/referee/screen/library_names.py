"""Which names of C++'s and PyTorch's libraries a kernel may import: by the first name inside of their namespaces.

Everything else in these namespaces is refused by name, known or not: `std::__basic_file` opens files, c10's converters
read clocks, `at::DynamicLibrary` loads libraries. Names of operators (`at::_ops`) are no matter of this list: they are
observed when they run.
"""

from __future__ import annotations

import re

_FIRST = re.compile(
    r"_Z(?:T[A-Z]|GV|GR)?(?:N[KVRO]*)?(?P<space>St|2at|3c10|5torch|6caffe2)(?P<inner>7__cxx11|3_V2|8internal|8autograd|4impl|6detail|)"
    r"(?P<size>\d+)(?P<rest>\w+)"
)
"""Of a mangled name: its namespace, one inside of it that says nothing for itself, and what follows."""
_STD = frozenset(
    """
    _Fnv_hash_bytes _Hash_bytes _List_node_base _Rb_tree_black_count _Rb_tree_decrement _Rb_tree_increment
    _Rb_tree_insert_and_rebalance _Rb_tree_rebalance_for_erase _Sp_locker _Sp_make_shared_tag __atomic0
    __atomic_futex_unsigned_base __convert_to_v __copy_streambufs __copy_streambufs_eof __detail __exception_ptr
    __future_base __glibcxx_assert_fail __istream_extract __norm __num_base __numeric_limits_base __once_call
    __once_callable __ostream_insert __shared_ptr __throw_bad_alloc __throw_bad_array_new_length __throw_bad_cast
    __throw_bad_exception __throw_bad_function_call __throw_bad_optional_access __throw_bad_typeid
    __throw_bad_variant_access __throw_bad_weak_ptr __throw_domain_error __throw_future_error
    __throw_invalid_argument __throw_ios_failure __throw_length_error __throw_logic_error __throw_out_of_range
    __throw_out_of_range_fmt __throw_overflow_error __throw_range_error __throw_regex_error __throw_runtime_error
    __throw_system_error __throw_underflow_error adopt_lock bad_alloc bad_array_length bad_array_new_length bad_cast
    bad_exception bad_function_call bad_optional_access bad_typeid bad_variant_access bad_weak_ptr basic_ios
    basic_iostream basic_istream basic_istringstream basic_ostream basic_ostringstream basic_streambuf basic_string
    basic_stringbuf basic_stringstream cerr char_traits clog codecvt condition_variable condition_variable_any cout
    ctype ctype_base current_exception defer_lock deque domain_error endl ends error_category error_code exception
    flush from_chars future_category future_error generic_category get_new_handler get_terminate getline has_facet
    hash invalid_argument ios_base ios_base_library_init iostream_category istreambuf_iterator length_error locale
    lock_error logic_error match_results nested_exception nothrow notify_all_at_thread_exit num_get num_put
    numeric_limits numpunct out_of_range overflow_error piecewise_construct placeholders pmr range_error regex_error
    regex_iterator regex_traits rethrow_exception runtime_error system_category system_error terminate this_thread
    thread to_chars try_to_lock type_info uncaught_exception uncaught_exceptions underflow_error use_facet valarray
    vector map unordered_map unique_ptr shared_ptr function tuple pair optional variant string_view array atomic mutex
    basic_string_view initializer_list allocator ws
    """.split()  # noqa: SIM905 - a table reads best so
)
_C10 = frozenset(
    """
    Allocator AutogradMetaInterface AutogradState BufferError Device DeviceTypeName DispatchKeySet EnforceFiniteError
    Error GetAllocator GetCPUAllocator GetDefaultCPUAllocator GradMode InferenceMode IndexError LinAlgError
    NoDelete NotImplementedError OutOfMemoryError ParallelGuard Scalar SmallVectorBase StorageImpl Stream SymBool
    SymFloat SymInt SymNodeImpl SymbolicShapeMeta SyntaxError TensorImpl TypeError UndefinedTensorImpl ValueError
    Warning WarningUtils WarningHandler alloc_cpu free_cpu demangle getDtypeNames getScalarTypeAbbr
    get_default_complex_dtype get_default_dtype get_default_dtype_as_scalartype isValidDeviceType kuint128max
    make_storage_impl promoteTypes report_overflow throwNullDataPtrError toString uint128 warn warnDeprecatedDataPtr
    intrusive_ptr_target DeviceIndex Storage Half BFloat16 Float8_e4m3fn Float8_e5m2 complex BoolType ComplexType
    DeviceObjType FloatType GeneratorType IValue IntType LayoutType ListType MemoryFormatType NoneType NumberType
    OptionalType ScalarTypeType StringType SymIntType TensorType TupleType Type maybe_wrap_dim ivalue DictType
    FunctionSchema Argument StorageType StreamObjType QSchemeType AnyType SymBoolType SymFloatType
    SourceLocation get_backtrace get_lazy_backtrace typeMetaToScalarType
    """.split()  # noqa: SIM905
)
_C10_DETAIL = frozenset(
    """
    _str ListImpl deleteNothing maybe_wrap_dim_slow torchCheckFail torchInternalAssertFail StripBasename
    """.split()  # noqa: SIM905
)
_C10_IMPL = frozenset(
    """
    GetAutogradMetaFactory PyInterpreter SizesAndStrides cow device_guard_impl_registry ensureCUDADeviceGuardSet
    getGlobalPyInterpreter raw_local_dispatch_key_set to_string check_python_gil
    """.split()  # noqa: SIM905
)
_AT = frozenset(
    """
    _ops Tensor TensorBase TensorGeometry TensorMaker OptionalTensorRef Generator CPUGeneratorImpl Context
    DeprecatedTypeProperties globalDeprecatedTypePropertiesRegistry checkAllContiguous checkAllDefined
    checkAllSameGPU checkAllSameNumel checkAllSameSize checkAllSameType checkBackend checkContiguous checkDefined
    checkDeviceType checkDim checkDimRange checkLayout checkNumel checkSameDim checkSameGPU checkSameNumel
    checkSameSize checkSameType checkScalarType checkScalarTypes checkSize checkSize_symint check_dim_size
    geometry_is_contiguous getCPUAllocator get_num_threads get_thread_num get_num_interop_threads globalContext
    in_parallel_region indexing infer_dense_strides infer_size infer_size_dimvector infer_size_symdimvector
    infer_size_symint init_num_threads intraop_default_num_threads maybe_data_ptr print tensor toAccumulateType
    get_cpu_capability assert_no_internal_overlap assert_no_overlap assert_no_partial_overlap has_internal_overlap
    get_overlap_status inferExpandGeometry inferExpandGeometry_dimvector detail native OperandInfo vec vml
    """.split()  # noqa: SIM905
)
_AT_IMPL = frozenset({"GetVariableHooks", "HasVariableHooks"})
_AT_INTERNAL = frozenset({"set_thread_num", "lazy_init_num_threads", "invoke_parallel", "OpaqueOptionalTensorRef"})
_TORCH = frozenset({
    "GetEmptyStringAlreadyInited", "PyTorchError", "PyWarningHandler", "nn", "processErrorMsg",
    "translate_exception_to_python",
})  # fmt: skip
_AUTOGRAD = frozenset({
    "AutogradMeta", "AutogradContext", "Node", "SavedVariable", "VariableInfo", "_wrap_outputs", "extract_vars",
})  # fmt: skip
_CAFFE2 = frozenset({"TypeMeta"})
_LISTS: dict[tuple[str, str], frozenset[str]] = {
    ("St", ""): _STD,
    ("St", "7__cxx11"): _STD,
    ("St", "3_V2"): _STD,
    ("3c10", ""): _C10,
    ("3c10", "6detail"): _C10_DETAIL,
    ("3c10", "4impl"): _C10_IMPL,
    ("2at", ""): _AT,
    ("2at", "4impl"): _AT_IMPL,
    ("2at", "8internal"): _AT_INTERNAL,
    ("2at", "6detail"): frozenset({"empty_cpu", "empty_strided_cpu", "empty_generic", "empty_strided_generic"}),
    ("5torch", ""): _TORCH,
    ("5torch", "8autograd"): _AUTOGRAD,
    ("6caffe2", ""): _CAFFE2,
    ("6caffe2", "6detail"): frozenset(),
}


def is_listed(mangled: str) -> bool:
    """Whether a name lies in none of these namespaces, or is on the list of the one that it lies in."""
    found = _FIRST.match(mangled)
    if found is None:
        return True
    size = int(found["size"])
    listed = _LISTS.get((found["space"], found["inner"]), frozenset())
    return found["rest"][:size] in listed or (found["space"] == "6caffe2" and found["rest"].endswith("metadata_index"))
