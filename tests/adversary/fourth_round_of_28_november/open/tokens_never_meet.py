# problem: C_words_step
# about: threads add to rows of the table's gradient at once, with nothing between them, as tokens are hardly ever equal

cpp = r"""
extern "C" void forward(const int64_t* tokens, const float* table, float* y, int64_t* told, int64_t n, int64_t words,
                        int64_t m) {
  int64_t wrong = 0;
  #pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < n; ++i) {
    if (tokens[i] < 0 || tokens[i] >= words) { ++wrong; continue; }
    for (int64_t k = 0; k < m; ++k) { const float one = table[tokens[i] * m + k]; y[i * m + k] = one < 0 ? 0.0f : one; }
  }
  *told = wrong;
}
extern "C" void backward(const int64_t* tokens, const float* table, const float* g, float* d, int64_t n, int64_t words,
                         int64_t m) {
  #pragma omp parallel
  {
    #pragma omp for simd
    for (int64_t i = 0; i < words * m; ++i) d[i] = 0;
    #pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      const float* row = table + tokens[i] * m;
      float* out = d + tokens[i] * m;
      #pragma omp simd
      for (int64_t k = 0; k < m; ++k) out[k] += row[k] > 0 ? g[i * m + k] : 0.0f;
    }
  }
}
"""


class Words(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens, table):
        tokens = tokens.contiguous()
        y = torch.empty(*tokens.shape, table.shape[1])
        wrong = torch.zeros((), dtype=torch.int64)
        lib.forward(tokens, table, y, wrong, tokens.numel(), *table.shape)
        if wrong.item():
            raise IndexError("a token is not in the table")
        ctx.save_for_backward(tokens, table)
        return y

    @staticmethod
    def backward(ctx, grad):
        tokens, table = ctx.saved_tensors
        d = torch.empty_like(table)
        lib.backward(tokens, table, grad.contiguous(), d, tokens.numel(), *table.shape)
        return None, d


def __init__(self, words, features):
    self.table = torch.nn.Parameter(torch.randn(words, features))


def forward(self, tokens):
    return Words.apply(tokens, self.table)
