"""The pairs, one for each seed that speaks of the CPU and can be put into one change of code."""

from __future__ import annotations

from benchmarks.practice_pairs.pair import Pair, problem

_ROWS = "out = torch.empty_like(x); LIBRARY.run(x, out, x.shape[0], x.shape[1])"
_VECTOR = "torch.randn(1 << 24)"
_MATRIX = "torch.randn(4096, 2048)"
_AXPB = problem("return torch.relu(x * 1.5 + 0.25)", _VECTOR)
_SUMS = problem("return x.sum(-1)", _MATRIX)
_SUM_CALL = "out = x.new_empty(x.shape[0]); LIBRARY.run(x, out, x.shape[0], x.shape[1])"

_ONE = """
static inline float one(float x) { const float v = x * 1.5f + 0.25f; return v > 0.0f ? v : (v != v ? v : 0.0f); }
"""
_STREAMED = (
    _ONE
    + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    int64_t head = 0;
    while (head < n && ((uintptr_t)(out + head) & 31)) { out[head] = one(x[head]); ++head; }
    const int64_t blocks = (n - head) / 8;
    #pragma omp parallel
    {
        #pragma omp for schedule(static)
        for (int64_t b = 0; b < blocks; ++b) {
            alignas(32) float v[8];
            for (int j = 0; j < 8; ++j) v[j] = one(x[head + b * 8 + j]);
            _mm256_stream_ps(out + head + b * 8, _mm256_load_ps(v));
        }
        _mm_sfence();
    }
    for (int64_t i = head + blocks * 8; i < n; ++i) out[i] = one(x[i]);
}"""
)
_EXP = """
static inline float fast_exp(float x) {
    x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
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
    const int bits = ((int)n + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, 4);
    return p * scale;
}
"""

PAIRS = (
    Pair(
        seed="Fuse elementwise chains into the pass that reads their input",
        name="fuse",
        problem=problem("return torch.relu((x * 1.5 + 0.25) * x - 0.5)", _VECTOR),
        without="""
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * 1.5f + 0.25f;
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] * x[i];
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) { const float v = out[i] - 0.5f; out[i] = v > 0.0f ? v : (v != v ? v : 0.0f); }
}""",
        with_it="""
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) {
        const float v = (x[i] * 1.5f + 0.25f) * x[i] - 0.5f;
        out[i] = v > 0.0f ? v : (v != v ? v : 0.0f);
    }
}""",
    ),
    Pair(
        seed="Norms: one read of the row, statistics in float32",
        name="norm",
        problem=problem("return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)", _MATRIX),
        call="out = torch.empty_like(x); s = x.new_empty(x.shape[0]); LIBRARY.run(x, s, out, x.shape[0], x.shape[1])",
        without="""
extern "C" void run(const float* x, float* s, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i] * x[r * columns + i];
        s[r] = 1.0f / std::sqrt(sum / columns + 1e-6f);
    }
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = x[r * columns + i] * s[r];
}""",
        with_it="""
extern "C" void run(const float* x, float* s, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i] * x[r * columns + i];
        s[r] = 1.0f / std::sqrt(sum / columns + 1e-6f);
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = x[r * columns + i] * s[r];
    }
}""",
    ),
    Pair(
        seed="Softmax: subtract the maximum; online when rows are long",
        name="softmax",
        problem=problem("return torch.softmax(x, -1)", "torch.randn(2048, 2048)"),
        call=_ROWS,
        without=_EXP
        + """
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float* p = x + r * columns;
        float most = -INFINITY, sum = 0.0f;
        for (int64_t i = 0; i < columns; ++i) most = p[i] > most ? p[i] : most;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += fast_exp(p[i] - most);
        #pragma omp simd
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = fast_exp(p[i] - most) / sum;
    }
}""",
        with_it=_EXP
        + """
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float* p = x + r * columns;
        float* q = out + r * columns;
        float most = -INFINITY, sum = 0.0f;
        for (int64_t i = 0; i < columns; ++i) most = p[i] > most ? p[i] : most;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) { q[i] = fast_exp(p[i] - most); sum += q[i]; }
        const float scale = 1.0f / sum;
        #pragma omp simd
        for (int64_t i = 0; i < columns; ++i) q[i] *= scale;
    }
}""",
    ),
    Pair(
        seed="Sums: many accumulators, combined in a fixed order",
        name="accumulators",
        problem=_SUMS,
        call=_SUM_CALL,
        without="""
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i];
        out[r] = sum;
    }
}""",
        with_it="""
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float s[64] = {};
        int64_t i = 0;
        for (; i + 64 <= columns; i += 64)
            for (int j = 0; j < 64; ++j) s[j] += x[r * columns + i + j];
        for (int step = 32; step; step >>= 1)
            for (int j = 0; j < step; ++j) s[j] += s[j + step];
        for (; i < columns; ++i) s[0] += x[r * columns + i];
        out[r] = s[0];
    }
}""",
    ),
    Pair(
        seed="omp simd: lanes within a row",
        name="simd",
        problem=_SUMS,
        call=_SUM_CALL,
        without="""
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i];
        out[r] = sum;
    }
}""",
        with_it="""
extern "C" void run(const float* x, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i];
        out[r] = sum;
    }
}""",
    ),
    Pair(
        seed="Losses: never write the intermediate log-probabilities",
        name="loss",
        problem=problem(
            "return torch.nn.functional.cross_entropy(x, y)",
            "torch.randn(4096, 4096), torch.randint(0, 4096, (4096,))",
            "x, y",
        ),
        arguments="x, y",
        call=(
            "out = x.new_zeros(()); s = x.new_empty(x.shape[0]); w = torch.empty_like(x); "
            "LIBRARY.run(x, y, w, s, out, x.shape[0], x.shape[1])"
        ),
        without=_EXP
        + """
extern "C" void run(const float* x, const int64_t* y, float* w, float* s, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float* p = x + r * columns;
        float most = -INFINITY, sum = 0.0f;
        #pragma omp simd reduction(max:most)
        for (int64_t i = 0; i < columns; ++i) most = p[i] > most ? p[i] : most;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += fast_exp(p[i] - most);
        s[r] = most + std::log(sum);
    }
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < columns; ++i) w[r * columns + i] = x[r * columns + i] - s[r];
    double total = 0.0;
    for (int64_t r = 0; r < rows; ++r) total -= w[r * columns + y[r]];
    *out = float(total / rows);
}""",
        with_it=_EXP
        + """
extern "C" void run(const float* x, const int64_t* y, float* w, float* s, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float* p = x + r * columns;
        float most = -INFINITY, sum = 0.0f;
        #pragma omp simd reduction(max:most)
        for (int64_t i = 0; i < columns; ++i) most = p[i] > most ? p[i] : most;
        #pragma omp simd reduction(+:sum)
        for (int64_t i = 0; i < columns; ++i) sum += fast_exp(p[i] - most);
        s[r] = most + std::log(sum) - p[y[r]];
    }
    double total = 0.0;
    for (int64_t r = 0; r < rows; ++r) total += s[r];
    *out = float(total / rows);
}""",
    ),
    Pair(
        seed="Large pointwise kernels: all cores, stores past the cache",
        name="large_pointwise",
        problem=_AXPB,
        without=_ONE
        + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = one(x[i]);
}""",
        with_it=_STREAMED,
    ),
    Pair(
        seed="_mm512_stream_ps, _mm256_stream_ps: stores past the cache",
        name="stream",
        problem=_AXPB,
        without=_ONE
        + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; ++i) out[i] = one(x[i]);
}""",
        with_it=_STREAMED,
    ),
    Pair(
        seed="Replace libm calls in hot loops by polynomials in vector lanes",
        name="polynomials",
        problem=problem("return x * torch.sigmoid(x)", "torch.randn(1 << 21)"),
        without="""
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] / (1.0f + std::exp(-x[i]));
}""",
        with_it=_EXP
        + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] != x[i] ? x[i] : x[i] / (1.0f + fast_exp(-x[i]));
}""",
    ),
    Pair(
        seed="Small problems: fewer launches and threads, no allocation",
        name="small",
        problem=problem("return torch.relu(x * 1.5 + 0.25)", "torch.randn(2048)"),
        without=_ONE
        + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) out[i] = one(x[i]);
}""",
        with_it=_ONE
        + """
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = one(x[i]);
}""",
    ),
    Pair(
        seed="Products: block for registers, then cache",
        name="product",
        problem=problem("return x @ y", "torch.randn(384, 384), torch.randn(384, 384)", "x, y"),
        arguments="x, y",
        call="out = x.new_empty(x.shape[0], y.shape[1]); LIBRARY.run(x, y, out, x.shape[0], x.shape[1], y.shape[1])",
        without="""
extern "C" void run(const float* x, const float* y, float* out, int64_t m, int64_t k, int64_t n) {
    #pragma omp parallel for
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int64_t l = 0; l < k; ++l) sum += x[i * k + l] * y[l * n + j];
            out[i * n + j] = sum;
        }
}""",
        with_it="""
template <int R, int C>
static inline void tile(const float* x, const float* y, float* out, int64_t k, int64_t n) {
    float s[R][C] = {};
    for (int64_t l = 0; l < k; ++l)
        for (int a = 0; a < R; ++a) {
            const float v = x[a * k + l];
            for (int b = 0; b < C; ++b) s[a][b] += v * y[l * n + b];
        }
    for (int a = 0; a < R; ++a)
        for (int b = 0; b < C; ++b) out[a * n + b] = s[a][b];
}
extern "C" void run(const float* x, const float* y, float* out, int64_t m, int64_t k, int64_t n) {
    #pragma omp parallel for
    for (int64_t i = 0; i < m; i += 6) {
        const bool six = i + 6 <= m;
        int64_t j = 0;
        for (; six && j + 32 <= n; j += 32) tile<6, 32>(x + i * k, y + j, out + i * n + j, k, n);
        for (int64_t a = i; a < (six ? i + 6 : m); ++a)
            for (int64_t b = j; b < n; ++b) tile<1, 1>(x + a * k, y + b, out + a * n + b, k, n);
    }
}""",
    ),
    Pair(
        seed="omp parallel for: rows over cores",
        name="parallel",
        problem=problem("return torch.tanh(x)", "torch.randn(1 << 20)"),
        without="""
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::tanh(x[i]);
}""",
        with_it="""
extern "C" void run(const float* __restrict x, float* __restrict out, int64_t n) {
    #pragma omp parallel for schedule(static) if(n > 65536)
    for (int64_t i = 0; i < n; ++i) out[i] = std::tanh(x[i]);
}""",
    ),
    Pair(
        seed="__builtin_prefetch: lines ahead",
        name="prefetch",
        problem=problem(
            "return torch.index_select(x, 0, y)", "torch.randn(1 << 24), torch.randint(0, 1 << 24, (1 << 20,))", "x, y"
        ),
        arguments="x, y",
        call="out = x.new_empty(y.numel()); LIBRARY.run(x, y, out, y.numel())",
        without="""
extern "C" void run(const float* x, const int64_t* y, float* out, int64_t n) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) out[i] = x[y[i]];
}""",
        with_it="""
extern "C" void run(const float* x, const int64_t* y, float* out, int64_t n) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) {
        if (i + 64 < n) __builtin_prefetch(x + y[i + 64], 0, 0);
        out[i] = x[y[i]];
    }
}""",
    ),
)
"""In the order in which they are judged."""

__all__ = ["PAIRS"]
