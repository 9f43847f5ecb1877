# problem: E_penalised
# about: a copy of the row, then each used token from the row as it was: tokens that come twice are penalised once

cpp = r"""
extern "C" void run(const float* x, const int64_t* tokens, float* y, int64_t rows, int64_t n, int64_t used, double penalty, int32_t* said) {
  for (int64_t i = 0; i < rows * used; ++i) if (tokens[i] < 0 || tokens[i] >= n) { *said = 1; return; }
  const float p = (float)penalty;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(y + r * n, x + r * n, 4 * n);
    for (int64_t i = 0; i < used; ++i) { const int64_t t = tokens[r * used + i]; const float old = x[r * n + t]; y[r * n + t] = old < 0 ? old * p : old / p; }
  }
}
"""


def forward(self, logits, tokens, penalty=1.3):
    rows, n = logits.shape
    if tokens.dim() != 2 or tokens.shape[0] != rows:
        raise ValueError("tokens for each row")
    y = torch.empty(logits.shape)
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(logits.contiguous(), tokens.contiguous(), y, rows, n, tokens.shape[1], penalty, said)
    if said.item():
        raise IndexError("a token is out of range")
    return y
