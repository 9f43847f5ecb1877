# problem: E_contrastive
# about: scores of a row of tiles at a time; maxima and sums of rows and columns in one pass, joined in the end

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>
extern "C" void run(const float* a, const float* b, int64_t n, int64_t d, double scale, float* y) {
  std::vector<float> one(n), two(n);
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double s = 0, t = 0;
    for (int64_t j = 0; j < d; ++j) { s += (double)a[i * d + j] * a[i * d + j]; t += (double)b[i * d + j] * b[i * d + j]; }
    one[i] = (float)(1.0 / std::fmax(std::sqrt(s), 1e-12)); two[i] = (float)(1.0 / std::fmax(std::sqrt(t), 1e-12));
  }
  std::vector<double> top(n, -INFINITY), sum(n, 0.0); double loss = 0;
  #pragma omp parallel
  {
    std::vector<double> own_top(n, -INFINITY), own_sum(n, 0.0), score(n);
    #pragma omp for reduction(+ : loss)
    for (int64_t i = 0; i < n; ++i) {
      double best = -INFINITY, total = 0;
      for (int64_t j = 0; j < n; ++j) {
        float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t t = 0; t < d; ++t) dot += (a[i * d + t] * one[i]) * (b[j * d + t] * two[j]);
        score[j] = scale * dot; if (score[j] > best) best = score[j];
      }
      for (int64_t j = 0; j < n; ++j) {
        total += std::exp(score[j] - best);
        if (score[j] > own_top[j]) { own_sum[j] = own_sum[j] * std::exp(own_top[j] - score[j]) + 1; own_top[j] = score[j]; }
        else own_sum[j] += std::exp(score[j] - own_top[j]);
      }
      loss += best + std::log(total) - 2 * score[i];
    }
    #pragma omp critical
    for (int64_t j = 0; j < n; ++j) {
      if (own_top[j] == -INFINITY) { if (own_sum[j] != own_sum[j]) sum[j] = NAN; continue; }
      if (own_top[j] > top[j]) { sum[j] *= std::exp(top[j] - own_top[j]); top[j] = own_top[j]; }
      sum[j] += own_sum[j] * std::exp(own_top[j] - top[j]);
    }
  }
  for (int64_t j = 0; j < n; ++j) loss += top[j] + std::log(sum[j]);
  *y = (float)(loss / (2 * (double)n));
}
"""


def forward(self, images, texts, scale):
    if images.dim() != 2 or texts.shape != images.shape or images.shape[0] < 1:
        raise ValueError("as many texts as images, one at least")
    y = torch.empty(())
    lib.run(images.contiguous(), texts.contiguous(), *images.shape, scale, y)
    return y
