# problem: D_window_attention_step
# about: the third of the windows: a row's inner product of gradient and output is summed in double, as flash attention has it

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
static inline float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  #pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
extern "C" void forward(const float* q, const float* k, const float* v, float* y, float* told, int64_t heads, int64_t steps, int64_t d,
                        int64_t e, int64_t window) {
  const float scale = (float)(1.0 / std::sqrt((double)d));
  #pragma omp parallel
  {
  std::vector<float> scores(steps);
  #pragma omp for collapse(2) schedule(static)
  for (int64_t h = 0; h < heads; ++h) for (int64_t t = 0; t < steps; ++t) {
    const int64_t begin = std::max<int64_t>(0, t - window + 1);
    for (int64_t u = begin; u <= t; ++u) scores[u] = dot(q + (h * steps + t) * d, k + (h * steps + u) * d, d) * scale;
    float top = -INFINITY, sum = 0, *to = y + (h * steps + t) * e;
    for (int64_t j = 0; j < e; ++j) to[j] = 0;
    for (int64_t u = begin; u <= t; ++u) {
      const float score = scores[u], *from = v + (h * steps + u) * e;
      if (!(score <= top)) {
        const float less = top == -INFINITY ? 0 : std::exp(top - score);
        sum *= less; top = score;
        for (int64_t j = 0; j < e; ++j) to[j] *= less;
      }
      const float share = score == -INFINITY ? 0 : std::exp(score - top);
      sum += share;
      #pragma omp simd
      for (int64_t j = 0; j < e; ++j) to[j] += share * from[j];
    }
    for (int64_t j = 0; j < e; ++j) to[j] /= sum;
    told[2 * (h * steps + t)] = top; told[2 * (h * steps + t) + 1] = sum;
  }
  }
}
extern "C" void backward(const float* q, const float* k, const float* v, const float* told, const float* y, const float* g, float* dq,
                         float* dk, float* dv, int64_t heads, int64_t steps, int64_t d, int64_t e, int64_t window) {
  const float scale = (float)(1.0 / std::sqrt((double)d));
  #pragma omp parallel
  {
    std::vector<float> shares(steps), slopes(steps);
    #pragma omp for
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = h * steps;
      std::fill(dk + at * d, dk + (at + steps) * d, 0.0f); std::fill(dv + at * e, dv + (at + steps) * e, 0.0f);
      for (int64_t t = 0; t < steps; ++t) {
        const float *own = g + (at + t) * e, *row = q + (at + t) * d; float *to = dq + (at + t) * d;
        double whole = 0;
        for (int64_t j = 0; j < e; ++j) whole += (double)own[j] * y[(at + t) * e + j];
        const float inner = (float)whole;
        const int64_t first = std::max<int64_t>(0, t - window + 1);
        for (int64_t u = first; u <= t; ++u) shares[u] = dot(row, k + (at + u) * d, d) * scale;
        for (int64_t u = first; u <= t; ++u) {
          shares[u] = std::exp(shares[u] - told[2 * (at + t)]) / told[2 * (at + t) + 1];
          slopes[u] = dot(own, v + (at + u) * e, e);
        }
        for (int64_t i = 0; i < d; ++i) to[i] = 0;
        for (int64_t u = first; u <= t; ++u) {
          const float by = shares[u] * (slopes[u] - inner) * scale, share = shares[u];
          const float* key = k + (at + u) * d; float *dkey = dk + (at + u) * d, *dvalue = dv + (at + u) * e;
          for (int64_t i = 0; i < d; ++i) { to[i] += by * key[i]; dkey[i] += by * row[i]; }
          for (int64_t j = 0; j < e; ++j) dvalue[j] += share * own[j];
        }
      }
    }
  }
}
"""


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, window):
        if q.dim() != 3 or k.shape != q.shape or v.shape[:2] != q.shape[:2] or v.dim() != 3 or window < 1:
            raise ValueError("heads of as many queries, keys and values, and a window of one step at least")
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        y, told = torch.empty(v.shape), torch.empty(*q.shape[:2], 2)
        lib.forward(q, k, v, y, told, *q.shape, v.shape[2], window)
        ctx.save_for_backward(q, k, v, told, y)
        ctx.window = window
        return y

    @staticmethod
    def backward(ctx, grad):
        q, k, v, told, y = ctx.saved_tensors
        dq, dk, dv = torch.empty(q.shape), torch.empty(k.shape), torch.empty(v.shape)
        lib.backward(q, k, v, told, y, grad.contiguous(), dq, dk, dv, *q.shape, v.shape[2], ctx.window)
        return dq, dk, dv, None


def forward(self, q, k, v, window=24):
    return Attention.apply(q, k, v, int(window))
