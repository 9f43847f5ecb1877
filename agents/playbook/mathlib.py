"""C++ that every generated source starts with: types, conversions and functions the compiler can vectorise.

The float versions of exp, log, erf, tanh, expm1 and log1p are branch-free polynomials (Cephes; Juffa's erf) within
about 2 ulp that keep NaN, infinities and signs of zero as the C library does. GELU goes a way of its own, the normal
distribution's tail as a power of two (least squares, to 4e-8): half the work of its erf. exp selects its zeros instead
of computing them: the product would be denormal, which costs the processor a hundred cycles a vector (masked softmax
is full of exp(-inf)). Nothing comes from a C++ header: including them takes longer than compiling a kernel.
"""

from __future__ import annotations

import functools
import re

FLAGS = ("-fno-math-errno", "-fno-trapping-math")
"""Let the compiler vectorise sqrt and selections. As pragmas they would stop it from vectorising at all (GCC 12)."""

HEAD = "#include <stdint.h>\n"

WIDE = r"""#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512")
#endif
"""

TYPES = r"""
constexpr double kw_inf = __builtin_inf();
constexpr double kw_nan = __builtin_nan("");
struct kw_bf16 { uint16_t bits; };
struct kw_f16 { uint16_t bits; };
KW_INLINE float kw_load(kw_bf16 x) { return __builtin_bit_cast(float, (uint32_t)x.bits << 16); }
KW_INLINE void kw_store(kw_bf16* p, float x) {
    const uint32_t u = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    p->bits = (uint16_t)(x != x ? 0x7fc0u : rounded);
}
KW_INLINE float kw_load(kw_f16 x) {
    const uint32_t sign = (uint32_t)(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
    const float normal = __builtin_bit_cast(float, (rest << 13) + 0x38000000u);
    const float small = (float)rest * 5.9604644775390625e-8f;
    const float special = __builtin_bit_cast(float, (rest << 13) | 0x7f800000u);
    const float size = rest < 0x400u ? small : (rest >= 0x7c00u ? special : normal);
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, size) | sign);
}
KW_INLINE void kw_store(kw_f16* p, float x) {
    const uint32_t u = __builtin_bit_cast(uint32_t, x), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
    const uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
    const uint32_t small = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, rest) + 0.5f) - 0x3f000000u;
    uint32_t half = rest < 0x38800000u ? small : normal;
    half = rest >= 0x477ff000u ? 0x7c00u : half;
    half = rest > 0x7f800000u ? 0x7e00u : half;
    p->bits = (uint16_t)(half | sign);
}
template <class T> KW_INLINE T kw_load(T x) { return x; }
template <class T> KW_INLINE void kw_store(T* p, T x) { *p = x; }
KW_INLINE float kw_round_bfloat16(float x) { kw_bf16 h; kw_store(&h, x); return kw_load(h); }
KW_INLINE float kw_round_float16(float x) { kw_f16 h; kw_store(&h, x); return kw_load(h); }
KW_INLINE int64_t kw_within(int64_t i, int64_t last) { return i < 0 ? 0 : (i > last ? last : i); }
template <class T> KW_INLINE T kw_max(T a, T b) { return (b > a) | (b != b) ? b : a; }
template <class T> KW_INLINE T kw_min(T a, T b) { return (b < a) | (b != b) ? b : a; }
template <class T> KW_INLINE constexpr T kw_lowest() { return T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0); }
template <class T> KW_INLINE constexpr T kw_highest() { return T(~kw_lowest<T>()); }
KW_INLINE int64_t kw_least(int64_t a, int64_t b) { return b < a ? b : a; }
KW_INLINE int64_t kw_pieces(int64_t wanted, int64_t most) {
    const int64_t limit = most < 256 ? most : 256;
    return wanted > limit ? (limit < 1 ? 1 : limit) : (wanted < 1 ? 1 : wanted);
}
template <int N> struct kw_constant { constexpr operator int() const { return N; } };
struct kw_row {
    void* memory;
    float* values;
    explicit kw_row(int64_t count) : memory(__builtin_malloc(count * sizeof(float) + 64)) {
        if (!memory) __builtin_abort();
        values = (float*)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    }
    kw_row(const kw_row&) = delete;
    ~kw_row() { __builtin_free(memory); }
};
template <int W, class T> KW_INLINE T kw_sum_lanes(const T* a) {
    T s[8] = {};
    for (int k = 0; k < W; k += 8) for (int l = 0; l < 8; ++l) s[l] += a[k + l];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
template <int W> KW_INLINE double kw_sum_lanes(const float* a) {
    double s[8] = {};
    for (int k = 0; k < W; k += 8) for (int l = 0; l < 8; ++l) s[l] += (double)a[k + l];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
template <int W, class T> KW_INLINE T kw_max_lanes(const T* a) {
    T s[8];
    for (int l = 0; l < 8; ++l) s[l] = a[l];
    for (int k = 8; k < W; k += 8) for (int l = 0; l < 8; ++l) s[l] = kw_max(s[l], a[k + l]);
    return kw_max(kw_max(kw_max(s[0], s[4]), kw_max(s[2], s[6])), kw_max(kw_max(s[1], s[5]), kw_max(s[3], s[7])));
}
template <int W, class T> KW_INLINE T kw_min_lanes(const T* a) {
    T s[8];
    for (int l = 0; l < 8; ++l) s[l] = a[l];
    for (int k = 8; k < W; k += 8) for (int l = 0; l < 8; ++l) s[l] = kw_min(s[l], a[k + l]);
    return kw_min(kw_min(kw_min(s[0], s[4]), kw_min(s[2], s[6])), kw_min(kw_min(s[1], s[5]), kw_min(s[3], s[7])));
}
typedef float kw_vector __attribute__((vector_size(64), may_alias));
typedef float kw_half_vector __attribute__((vector_size(32), may_alias));
template <int W, class T> KW_INLINE void kw_stream(T* p, const T* values) {
#if defined(__AVX512F__)
    if (((uintptr_t)p & 63) == 0 && W * sizeof(T) % 64 == 0) {
        for (unsigned k = 0; k < W * sizeof(T); k += 64)
            __builtin_ia32_movntps512((float*)((char*)p + k), *(const kw_vector*)((const char*)values + k));
        return;
    }
#elif defined(__AVX__)
    if (((uintptr_t)p & 31) == 0 && W * sizeof(T) % 32 == 0) {
        for (unsigned k = 0; k < W * sizeof(T); k += 32)
            __builtin_ia32_movntps256((float*)((char*)p + k), *(const kw_half_vector*)((const char*)values + k));
        return;
    }
#endif
    for (int k = 0; k < W; ++k) p[k] = values[k];
}
KW_INLINE void kw_fence() {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}
"""

PLAIN_FLOAT = r"""
KW_INLINE float kw_exp(float x) { return __builtin_expf(x); }
KW_INLINE float kw_log(float x) { return __builtin_logf(x); }
KW_INLINE float kw_erf(float x) { return __builtin_erff(x); }
KW_INLINE float kw_tanh(float x) { return __builtin_tanhf(x); }
KW_INLINE float kw_expm1(float x) { return __builtin_expm1f(x); }
KW_INLINE float kw_log1p(float x) { return __builtin_log1pf(x); }
"""

FAST_FLOAT = r"""
KW_INLINE float kw_pow2(int k) { return __builtin_bit_cast(float, (uint32_t)(k + 127) << 23); }
KW_INLINE float kw_exp(float x) {
    const bool vanishes = x < -104.0f;
    x = vanishes ? 0.0f : x;
    x = x > 89.0f ? 89.0f : x;
    const float n = __builtin_rintf(x * 1.44269504088896341f);
    float r = __builtin_fmaf(n, -0.693359375f, x);
    r = __builtin_fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = __builtin_fmaf(p, r, 1.3981999507e-3f);
    p = __builtin_fmaf(p, r, 8.3334519073e-3f);
    p = __builtin_fmaf(p, r, 4.1665795894e-2f);
    p = __builtin_fmaf(p, r, 1.6666665459e-1f);
    p = __builtin_fmaf(p, r, 5.0000001201e-1f);
    p = __builtin_fmaf(p * r, r, r) + 1.0f;
    const int k = (int)n, half = k >> 1;
    return vanishes ? 0.0f : p * kw_pow2(half) * kw_pow2(k - half);
}
KW_INLINE float kw_log(float x) {
    const bool tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 8388608.0f : x;
    const int32_t bits = __builtin_bit_cast(int32_t, scaled);
    const int32_t k = (bits - 0x3f3504f3) >> 23;
    const float f = __builtin_bit_cast(float, bits - (int32_t)((uint32_t)k << 23)) - 1.0f;
    const float e = (float)(k - (tiny ? 23 : 0));
    const float z = f * f;
    float p = 7.0376836292e-2f;
    p = __builtin_fmaf(p, f, -1.1514610310e-1f);
    p = __builtin_fmaf(p, f, 1.1676998740e-1f);
    p = __builtin_fmaf(p, f, -1.2420140846e-1f);
    p = __builtin_fmaf(p, f, 1.4249322787e-1f);
    p = __builtin_fmaf(p, f, -1.6668057665e-1f);
    p = __builtin_fmaf(p, f, 2.0000714765e-1f);
    p = __builtin_fmaf(p, f, -2.4999993993e-1f);
    p = __builtin_fmaf(p, f, 3.3333331174e-1f);
    float y = p * f * z;
    y = __builtin_fmaf(e, -2.12194440e-4f, y);
    y = __builtin_fmaf(z, -0.5f, y);
    float r = __builtin_fmaf(e, 0.693359375f, f + y);
    r = x == (float)kw_inf ? (float)kw_inf : r;
    r = x == 0.0f ? -(float)kw_inf : r;
    r = x < 0.0f ? (float)kw_nan : r;
    return x != x ? x : r;
}
KW_INLINE float kw_erf(float a) {
    const float t = __builtin_fabsf(a), s = a * a;
    float r = __builtin_fmaf(-1.72853470e-5f, t, 3.83197126e-4f);
    const float u = __builtin_fmaf(-3.88396438e-3f, t, 2.42546219e-2f);
    r = __builtin_fmaf(r, s, u);
    r = __builtin_fmaf(r, t, -1.06777877e-1f);
    r = __builtin_fmaf(r, t, -6.34846687e-1f);
    r = __builtin_fmaf(r, t, -1.28717512e-1f);
    r = __builtin_fmaf(r, t, -t);
    const float far = __builtin_copysignf(1.0f - kw_exp(t > 10.0f ? -100.0f : r), a);
    float q = -5.96761703e-4f;
    q = __builtin_fmaf(q, s, 4.99119423e-3f);
    q = __builtin_fmaf(q, s, -2.67681349e-2f);
    q = __builtin_fmaf(q, s, 1.12819925e-1f);
    q = __builtin_fmaf(q, s, -3.76125336e-1f);
    q = __builtin_fmaf(q, s, 1.28379166e-1f);
    const float near = __builtin_fmaf(q, a, a);
    return t > 0.927734375f ? far : near;
}
KW_INLINE float kw_gelu(float x) {
    const float t = __builtin_fabsf(x), c = t > 5.5f ? 5.5f : t;
    float q = -1.1678629e-6f;
    q = __builtin_fmaf(q, c, 1.9797153e-5f);
    q = __builtin_fmaf(q, c, -9.7259850e-5f);
    q = __builtin_fmaf(q, c, -3.3654438e-4f);
    q = __builtin_fmaf(q, c, 7.2979890e-3f);
    q = __builtin_fmaf(q, c, -5.2636359e-2f);
    q = __builtin_fmaf(q, c, -4.5917052e-1f);
    q = __builtin_fmaf(q, c, -1.1511085f);
    const float y = q * c, n = __builtin_rintf(y), f = y - n;
    float p = 1.3276456e-3f;
    p = __builtin_fmaf(p, f, 9.6755410e-3f);
    p = __builtin_fmaf(p, f, 5.5507135e-2f);
    p = __builtin_fmaf(p, f, 2.4022120e-1f);
    p = __builtin_fmaf(p, f, 6.9314695e-1f);
    p = __builtin_fmaf(p, f, 1.0000001f);
    const float tail = t > 5.5f ? 0.0f : 0.5f * p * kw_pow2((int)n);
    return x * (x < 0.0f ? tail : 1.0f - tail);
}
KW_INLINE float kw_tanh(float x) {
    const float t = __builtin_fabsf(x), z = x * x;
    float p = -5.70498872745e-3f;
    p = __builtin_fmaf(p, z, 2.06390887954e-2f);
    p = __builtin_fmaf(p, z, -5.37397155531e-2f);
    p = __builtin_fmaf(p, z, 1.33314422036e-1f);
    p = __builtin_fmaf(p, z, -3.33332819422e-1f);
    const float near = __builtin_fmaf(p * z, x, x);
    const float far = __builtin_copysignf(1.0f - 2.0f / (kw_exp(t + t) + 1.0f), x);
    return t >= 0.625f ? far : near;
}
KW_INLINE float kw_expm1(float x) {
    float p = 2.48015873e-5f;
    p = __builtin_fmaf(p, x, 1.98412698e-4f);
    p = __builtin_fmaf(p, x, 1.38888889e-3f);
    p = __builtin_fmaf(p, x, 8.33333333e-3f);
    p = __builtin_fmaf(p, x, 4.16666667e-2f);
    p = __builtin_fmaf(p, x, 1.66666667e-1f);
    p = __builtin_fmaf(p, x, 0.5f);
    const float near = __builtin_fmaf(p * x, x, x), far = kw_exp(x) - 1.0f;
    return __builtin_fabsf(x) < 0.5f ? near : far;
}
KW_INLINE float kw_log1p(float x) {
    const float u = 1.0f + x;
    const float r = kw_log(u) + (x - (u - 1.0f)) / u;
    return (u == (float)kw_inf) | (u == 0.0f) ? kw_log(u) : r;
}
"""

FUNCTIONS = r"""
KW_INLINE float kw_sqrt(float x) { return __builtin_sqrtf(x); }
KW_INLINE double kw_sqrt(double x) { return __builtin_sqrt(x); }
template <class T> KW_INLINE T kw_round(T x) { return x; }
KW_INLINE float kw_round(float x) { return __builtin_rintf(x); }
KW_INLINE double kw_round(double x) { return __builtin_rint(x); }
KW_INLINE float kw_trunc(float x) { return __builtin_truncf(x); }
KW_INLINE double kw_trunc(double x) { return __builtin_trunc(x); }
KW_INLINE float kw_floor(float x) { return __builtin_floorf(x); }
KW_INLINE double kw_floor(double x) { return __builtin_floor(x); }
KW_INLINE float kw_exp2(float x) { return __builtin_exp2f(x); }
KW_INLINE double kw_exp2(double x) { return __builtin_exp2(x); }
template <class T> KW_INLINE T kw_fmod(T a, T b) { return a % b; }
KW_INLINE float kw_fmod(float a, float b) { return __builtin_fmodf(a, b); }
KW_INLINE double kw_fmod(double a, double b) { return __builtin_fmod(a, b); }
KW_INLINE double kw_exp(double x) { return __builtin_exp(x); }
KW_INLINE double kw_log(double x) { return __builtin_log(x); }
KW_INLINE double kw_erf(double x) { return __builtin_erf(x); }
KW_INLINE double kw_tanh(double x) { return __builtin_tanh(x); }
KW_INLINE double kw_expm1(double x) { return __builtin_expm1(x); }
KW_INLINE double kw_log1p(double x) { return __builtin_log1p(x); }
template <class T> KW_INLINE T kw_abs(T x) { return x < T(0) ? -x : x; }
KW_INLINE float kw_abs(float x) { return __builtin_fabsf(x); }
KW_INLINE double kw_abs(double x) { return __builtin_fabs(x); }
template <class T> KW_INLINE T kw_relu(T x) { return x < T(0) ? T(0) : x; }
template <class T> KW_INLINE T kw_square(T x) { return x * x; }
template <class T> KW_INLINE T kw_copy(T x) { return x; }
template <class T> KW_INLINE T kw_reciprocal(T x) { return T(1) / x; }
template <class T> KW_INLINE T kw_rsqrt(T x) { return T(1) / kw_sqrt(x); }
template <class T> KW_INLINE T kw_sign(T x) { return x != x ? x : T((x > T(0)) - (x < T(0))); }
template <class T> KW_INLINE T kw_frac(T x) { return x - kw_trunc(x); }
template <class T> KW_INLINE T kw_sigmoid(T x) { return T(1) / (T(1) + kw_exp(-x)); }
template <class T> KW_INLINE T kw_silu(T x) { return x / (T(1) + kw_exp(-x)); }
template <class T> KW_INLINE T kw_gelu(T x) { return T(0.5) * x * (T(1) + kw_erf(x * T(0.70710678118654752440))); }
template <class T> KW_INLINE T kw_gelu_tanh(T x) {
    return T(0.5) * x * (T(1) + kw_tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}
template <class T> KW_INLINE T kw_softplus(T x, T beta, T threshold) {
    const T y = kw_log1p(kw_exp(x * beta)) / beta;
    return x * beta > threshold ? x : y;
}
template <class T> KW_INLINE T kw_log_sigmoid(T x) {
    return (x > T(0) ? T(0) : x) - kw_log1p(kw_exp(-kw_abs(x)));
}
template <class T> KW_INLINE T kw_mish(T x) {
    const T y = x > T(20) ? x : kw_log1p(kw_exp(x));
    return x * kw_tanh(y);
}
template <class T> KW_INLINE T kw_hardsigmoid(T x) {
    const T y = x + T(3);
    return (y < T(0) ? T(0) : (y > T(6) ? T(6) : y)) / T(6);
}
template <class T> KW_INLINE T kw_hardswish(T x) {
    const T y = x + T(3);
    return x * (y < T(0) ? T(0) : (y > T(6) ? T(6) : y)) / T(6);
}
template <class T> KW_INLINE T kw_leaky_relu(T x, T slope) { return x > T(0) ? x : x * slope; }
template <class T> KW_INLINE T kw_elu(T x, T below, T above, T inner) {
    const T low = kw_expm1(x * inner) * below, high = x * above;
    return x <= T(0) ? low : high;
}
template <class T> KW_INLINE T kw_hardshrink(T x, T limit) { return (x >= -limit) & (x <= limit) ? T(0) : x; }
template <class T> KW_INLINE T kw_softshrink(T x, T limit) {
    return x > limit ? x - limit : (x < -limit ? x + limit : x * T(0));
}
template <class T> KW_INLINE T kw_xlogy(T x, T y) {
    const T r = x * kw_log(y);
    return (x == T(0)) & !(y != y) ? T(0) : r;
}
template <class T> KW_INLINE T kw_remainder(T a, T b) {
    if constexpr (T(1) / T(2) == T(0)) { const T r = a % b; return r != 0 && ((r < 0) != (b < 0)) ? r + b : r; }
    else { const T r = kw_fmod(a, b); return r != 0 && ((r < 0) != (b < 0)) ? r + b : r; }
}
template <class T> KW_INLINE T kw_trunc_divide(T a, T b) {
    if constexpr (T(1) / T(2) == T(0)) return a / b; else return kw_trunc(a / b);
}
template <class T> KW_INLINE T kw_floor_divide(T a, T b) {
    if constexpr (T(1) / T(2) == T(0)) return (a - kw_remainder(a, b)) / b;
    else return b == T(0) ? a / b : kw_floor((a - kw_remainder(a, b)) / b + T(0.5));
}
"""


PIECE = re.compile(r"^(?=KW_INLINE|template|struct|typedef|constexpr)", re.MULTILINE)
DEFINES = "#define KW_INLINE static inline __attribute__((always_inline))\n"


def prelude(body: str, *, fast: bool, wide: bool) -> str:
    """The text before kernels: the definitions they use, and what those use; every line costs compile time."""
    pieces = [piece for text in (TYPES, FAST_FLOAT if fast else PLAIN_FLOAT, FUNCTIONS) for piece in _pieces(text)]
    needed = set(_names(body))
    while more := {other for piece in pieces if _defined(piece) in needed for other in _names(piece)} - needed:
        needed |= more
    chosen = "".join(piece for piece in pieces if _defined(piece) in needed)
    return HEAD + (WIDE if wide else "") + DEFINES + chosen


@functools.cache
def _pieces(text: str) -> tuple[str, ...]:
    """One definition each."""
    return tuple(piece for piece in PIECE.split(text) if piece.strip())


@functools.cache
def _defined(piece: str) -> str:
    """The name that a definition is for: its first."""
    return _names(piece)[0]


@functools.lru_cache(maxsize=1024)
def _names(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\bkw_\w+", text))
