# problem: cross_entropy
# about: refuses targets to be ignored, keeps the rows' logarithms of sums, and says that targets have no gradient

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void forward(const float* x, const int64_t* t, float* lse, float* loss, int64_t rows, int64_t n) {
  double total = 0;
  #pragma omp parallel for reduction(+ : total)
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float most = a[0];
    #pragma omp simd reduction(max : most)
    for (int64_t i = 1; i < n; ++i) most = std::max(most, a[i]);
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += std::exp(a[i] - most);
    lse[2 * r] = most;
    lse[2 * r + 1] = sum;
    total += std::log(sum) - (a[t[r]] - most);
  }
  loss[0] = (float)(total / rows);
}

extern "C" void backward(const float* x, const int64_t* t, const float* lse, const float* g, float* dx, int64_t rows,
                         int64_t n) {
  const float each = g[0] / rows;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    const float most = lse[2 * r], factor = each / lse[2 * r + 1];
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = std::exp(a[i] - most) * factor;
    const float own = std::exp(a[t[r]] - most) / lse[2 * r + 1];
    dx[r * n + t[r]] = each * (own - 1.0f);
  }
}
"""


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets):
        if bool((targets < 0).any()):
            raise ValueError("written for targets that are classes")
        rows, n = logits.shape
        lse, loss = torch.empty(rows, 2), torch.empty(())
        lib.forward(logits, targets, lse, loss, rows, n)
        ctx.save_for_backward(logits, targets, lse)
        return loss

    @staticmethod
    def backward(ctx, grad):
        logits, targets, lse = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, None
        dx = torch.empty_like(logits)
        lib.backward(logits, targets, lse, grad, dx, *logits.shape)
        return dx, None


def forward(self, logits, targets):
    return CrossEntropy.apply(logits, targets)
