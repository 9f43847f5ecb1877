# problem: D_random_field
# about: keeps the forward's sums in doubles; the backward makes each step's shares again from them, with sums of each thread's own

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <omp.h>
#include <vector>
static double log_of_sum(const double* v, int64_t n) {
  double top = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) top = v[i] > top || std::isnan(v[i]) ? v[i] : top;
  if (std::isinf(top)) return top;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(v[i] - top);
  return top + std::log(sum);
}
extern "C" void forward(const float* scores, const int64_t* tags, const int64_t* lengths, const float* start, const float* end,
                        const float* moves, double* alphas, float* y, int64_t rows, int64_t steps, int64_t k, int32_t* bad) {
  for (int64_t b = 0; b < rows; ++b) if (lengths[b] < 1 || lengths[b] > steps) { *bad = 1; return; }
  for (int64_t i = 0; i < rows * steps; ++i) if (tags[i] < 0 || tags[i] >= k) { *bad = 1; return; }
  #pragma omp parallel for
  for (int64_t b = 0; b < rows; ++b) {
    const float* s = scores + b * steps * k; const int64_t *tag = tags + b * steps, length = lengths[b];
    double* a = alphas + b * steps * k;
    std::vector<double> v(k);
    for (int64_t j = 0; j < k; ++j) a[j] = (double)start[j] + s[j];
    double own = (double)start[tag[0]] + s[tag[0]];
    for (int64_t t = 1; t < length; ++t) {
      for (int64_t j = 0; j < k; ++j) {
        for (int64_t i = 0; i < k; ++i) v[i] = a[(t - 1) * k + i] + moves[i * k + j];
        a[t * k + j] = log_of_sum(v.data(), k) + s[t * k + j];
      }
      own += (double)moves[tag[t - 1] * k + tag[t]] + s[t * k + tag[t]];
    }
    for (int64_t j = 0; j < k; ++j) v[j] = a[(length - 1) * k + j] + end[j];
    y[b] = (float)(log_of_sum(v.data(), k) - own - end[tag[length - 1]]);
  }
}
// the shares of a sum that its terms in v have
static void shares(double* v, int64_t n) {
  const double total = log_of_sum(v, n);
  for (int64_t i = 0; i < n; ++i) v[i] = std::exp(v[i] - total);
}
extern "C" void backward(const int64_t* tags, const int64_t* lengths, const float* end, const float* moves, const double* alphas,
                         const float* g, float* dscores, float* dstart, float* dend, float* dmoves, int64_t rows, int64_t steps, int64_t k) {
  const int64_t each = k * k + 2 * k; const int most = omp_get_max_threads();
  std::vector<double> sums(most * each, 0.0);
  #pragma omp parallel
  {
    double *dm = sums.data() + omp_get_thread_num() * each, *ds = dm + k * k, *de = ds + k;
    std::vector<double> v(k), d(k), before(k);
    #pragma omp for
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t *tag = tags + b * steps, length = lengths[b]; const double by = g[b], *a = alphas + b * steps * k;
      float* out = dscores + b * steps * k;
      std::fill(out + length * k, out + steps * k, 0.0f);
      for (int64_t j = 0; j < k; ++j) v[j] = a[(length - 1) * k + j] + end[j];
      shares(v.data(), k);
      for (int64_t j = 0; j < k; ++j) { d[j] = by * v[j]; de[j] += d[j]; }
      de[tag[length - 1]] -= by;
      for (int64_t t = length - 1; t > 0; --t) {
        for (int64_t j = 0; j < k; ++j) out[t * k + j] = (float)(d[j] - (j == tag[t] ? by : 0));
        std::fill(before.begin(), before.end(), 0.0);
        for (int64_t j = 0; j < k; ++j) {
          for (int64_t i = 0; i < k; ++i) v[i] = a[(t - 1) * k + i] + moves[i * k + j];
          shares(v.data(), k);
          for (int64_t i = 0; i < k; ++i) { const double p = v[i] * d[j]; before[i] += p; dm[i * k + j] += p; }
        }
        dm[tag[t - 1] * k + tag[t]] -= by;
        d.swap(before);
      }
      for (int64_t j = 0; j < k; ++j) { const double p = d[j] - (j == tag[0] ? by : 0); out[j] = (float)p; ds[j] += p; }
    }
  }
  for (int64_t i = 0; i < each; ++i) {
    double sum = 0;
    for (int t = 0; t < most; ++t) sum += sums[t * each + i];
    (i < k * k ? dmoves[i] : i < k * k + k ? dstart[i - k * k] : dend[i - k * k - k]) = (float)sum;
  }
}
"""


class Field(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, tags, lengths, start, end, moves):
        k = start.shape[0]
        if scores.dim() != 3 or scores.shape[2] != k or tags.shape != scores.shape[:2] or lengths.shape != scores.shape[:1]:
            raise ValueError("scores of each tag in each step, a tag for each step and a length for each row")
        if not scores.shape[1]:
            raise ValueError("no step")
        scores, tags, lengths = scores.contiguous(), tags.contiguous(), lengths.contiguous()
        alphas, y = torch.empty(scores.shape, dtype=torch.float64), torch.empty(scores.shape[0])
        bad = torch.zeros(1, dtype=torch.int32)
        lib.forward(scores, tags, lengths, start, end, moves, alphas, y, *scores.shape, bad)
        if bad.item():
            raise IndexError("a length or a tag is out of range")
        ctx.save_for_backward(tags, lengths, end, moves, alphas)
        return y

    @staticmethod
    def backward(ctx, grad):
        tags, lengths, end, moves, alphas = ctx.saved_tensors
        ds, d1, d2, dm = torch.empty(alphas.shape), torch.empty(end.shape), torch.empty(end.shape), torch.empty(moves.shape)
        lib.backward(tags, lengths, end, moves, alphas, grad.contiguous(), ds, d1, d2, dm, *alphas.shape)
        return ds, None, None, d1, d2, dm


def __init__(self, tags):
    self.start = torch.nn.Parameter(torch.randn(tags) * 0.3)
    self.end = torch.nn.Parameter(torch.randn(tags) * 0.3)
    self.moves = torch.nn.Parameter(torch.randn(tags, tags) * 0.3)


def forward(self, scores, tags, lengths):
    return Field.apply(scores, tags, lengths, self.start, self.end, self.moves)
