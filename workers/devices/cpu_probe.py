"""Entry of the device measurement: what copies, fused multiply-adds and empty calls achieve on this machine's cores.

Runs in a sandbox on a library that the compile stage built. Every figure is the best of several runs: what the
hardware can do, not what it does beside other work.
"""

from __future__ import annotations

import os
import socket
import time

import kernelwright_rt
from services.domain.events import JsonValue
from workers.ipc.wire import Channel

FLAGS = ("-ffp-contract=fast",)
SOURCE = r"""
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

float* allocate(int64_t n) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 2 << 20, n * sizeof(float)) != 0) std::abort();
    madvise(memory, n * sizeof(float), MADV_HUGEPAGE);
    float* x = static_cast<float*>(memory);
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) x[i] = 1.0f;
    return x;
}

void plain(const float* __restrict x, float* __restrict y, int64_t begin, int64_t end) {
    #pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = x[i];
}

void streaming(const float* __restrict x, float* __restrict y, int64_t begin, int64_t end) {  // past the caches
#if defined(__AVX__)
    for (int64_t i = begin; i < end; i += lanes) {
        Vector value = *(const Vector*)(x + i);
        asm volatile("vmovntps %1, %0" : "=m"(*(Vector*)(y + i)) : "x"(value));
    }
#else
    plain(x, y, begin, end);
#endif
}

constexpr int64_t block = 1 << 18;  // floats

template <class Copy>
double best_copy(Copy copy, const float* x, float* y, int64_t n, double seconds) {  // all threads on one array
    double best = 1e30;
    auto begin = Clock::now();
    for (int trial = 0; trial < 3 || since(begin) < seconds; ++trial) {
        auto start = Clock::now();
        #pragma omp parallel for schedule(dynamic)  // a thread that waits for its core gets less to do
        for (int64_t begin = 0; begin < n; begin += block) copy(x, y, begin, std::min(n, begin + block));
        best = std::min(best, since(start));
    }
    return 2.0 * n * sizeof(float) / best / 1e9;
}

double own_copy(const float* __restrict x, float* __restrict y, int64_t n, double seconds) {  // one thread, own arrays
    int64_t repeats = std::max<int64_t>(1, (4 << 20) / (n * (int64_t)sizeof(float)));
    double best = 1e30;
    auto begin = Clock::now();
    for (int trial = 0; trial < 3 || since(begin) < seconds; ++trial) {
        auto start = Clock::now();
        for (int64_t r = 0; r < repeats; ++r) {
            #pragma omp simd
            for (int64_t i = 0; i < n; ++i) y[i] = x[i];
            asm volatile("" ::: "memory");
        }
        best = std::min(best, since(start) / repeats);
    }
    return 2.0 * n * sizeof(float) / best / 1e9;
}

constexpr int accumulators = lanes == 16 ? 16 : 12;

double multiply_add(int64_t iterations) {  // floating-point operations of one thread
    Vector a[accumulators];
    Vector b = Vector{} + 0.999f, c = Vector{} + 0.001f;
    for (int k = 0; k < accumulators; ++k) a[k] = Vector{} + (float)k;
    for (int64_t i = 0; i < iterations; ++i) {
        asm volatile("" : "+x"(b), "+x"(c));
        #pragma GCC unroll 16
        for (int k = 0; k < accumulators; ++k) a[k] = a[k] * b + c;
    }
    for (int k = 0; k < accumulators; ++k) asm volatile("" :: "x"(a[k]));
    return 2.0 * iterations * accumulators * lanes;
}

}  // namespace

extern "C" void nothing(const float*, float*, int64_t) {}

// GB/s, read plus written, of copies of `n` floats by all threads together, plain or past the caches
extern "C" void large_copy(double* result, int64_t n, double seconds) {
    float* x = allocate(n);
    float* y = allocate(n);
    result[0] = std::max(best_copy(plain, x, y, n, seconds), best_copy(streaming, x, y, n, seconds));
    std::free(x);
    std::free(y);
}

// The next two add what each thread reaches at its best, all running at once: a thread that waits for its core in one
// trial does not spoil the others.

// GB/s, read plus written, of copies of `n` floats by each thread for itself
extern "C" void cached_copy(double* result, int64_t n, double seconds) {
    double sum = 0.0;
    #pragma omp parallel reduction(+ : sum)
    {
        float* x = static_cast<float*>(std::aligned_alloc(64, n * sizeof(float)));
        float* y = static_cast<float*>(std::aligned_alloc(64, n * sizeof(float)));
        std::fill_n(x, n, 1.0f);
        std::fill_n(y, n, 0.0f);
        sum += own_copy(x, y, n, seconds);
        std::free(x);
        std::free(y);
    }
    result[0] = sum;
}

// GFLOP/s in fp32
extern "C" void peak(double* result, double seconds) {
    double sum = 0.0;
    #pragma omp parallel reduction(+ : sum)
    {
        double best = 0.0;
        auto begin = Clock::now();
        for (int trial = 0; trial < 3 || since(begin) < seconds; ++trial) {
            auto start = Clock::now();
            double operations = multiply_add(50'000);
            best = std::max(best, operations / since(start) / 1e9);
        }
        sum += best;
    }
    result[0] = sum;
}
"""

MODULE = f"import kernelwright_rt\nkernelwright_rt.compile_cpp({SOURCE!r}, {FLAGS!r})\n"
"""What the compile stage is given."""


def serve(connection: socket.socket) -> None:
    """Receive the sizes to measure at, send the figures."""
    channel = Channel(connection)
    request = channel.receive(timeout_s=30.0).body
    channel.send(_measure(*(_floats(request[name]) for name in ("large_bytes", "cached_bytes", "near_bytes"))))
    os._exit(0)


def _floats(size: JsonValue) -> int:
    """Elements of each of two arrays that take `size` bytes together; a multiple of the widest vector."""
    assert isinstance(size, int)
    return size // 8 // 16 * 16


def _measure(large: int, cached: int, near: int) -> dict[str, JsonValue]:
    """Copies of three lengths: by all cores beyond all caches; by each core in its share of the last cache and its own.

    A floor must not be too high, so the faster of the two cached copies counts."""
    import torch  # only here: the worker reads this module for its source and goes without torch

    library = kernelwright_rt.compile_cpp(SOURCE, FLAGS)
    figure = torch.zeros(1, dtype=torch.float64)

    def measured(function: kernelwright_rt.Function, *arguments: float) -> float:
        function(figure, *arguments)
        return float(figure)

    measured(library.peak, 0.02)  # wakes the threads and the clocks
    return {
        "peak_gflop_s": measured(library.peak, 0.2),
        "copy_bandwidth_gb_s": measured(library.large_copy, large, 0.25),
        "cache_bandwidth_gb_s": max(measured(library.cached_copy, size, 0.1) for size in (cached, near)),
        "launch_us": _launch_us(library.nothing),
    }


def _launch_us(nothing: kernelwright_rt.Function, calls: int = 500, trials: int = 40) -> float:
    import torch

    tensor = torch.zeros(1)
    best = float("inf")
    for _ in range(trials):
        started = time.perf_counter()
        for _ in range(calls):
            nothing(tensor, tensor, 1)
        best = min(best, (time.perf_counter() - started) / calls)
    return best * 1e6
