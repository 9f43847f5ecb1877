# problem: place_of_the_largest
# about: keeps places as floats beside the values, as vectors of one type need it

cpp = r"""
extern "C" void run(const float* x, int64_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float best[16], at[16], now[16];
    for (int l = 0; l < 16; ++l) { best[l] = -INFINITY; at[l] = 0.0f; now[l] = (float)l; }
    int64_t j = 0;
    for (; j + 16 <= n; j += 16) for (int l = 0; l < 16; ++l) {
      float v = in[j + l]; bool is = v > best[l] || (v != v && best[l] == best[l]);
      best[l] = is ? v : best[l]; at[l] = is ? (float)(j + l) : at[l];
    }
    float most = best[0], place = at[0];
    for (int l = 1; l < 16; ++l) {
      bool is = best[l] > most || (best[l] != best[l] && most == most) || ((best[l] == most || (best[l] != best[l] && most != most)) && at[l] < place);
      if (is) { most = best[l]; place = at[l]; }
    }
    for (; j < n; ++j) if (in[j] > most || (in[j] != in[j] && most == most)) { most = in[j]; place = (float)j; }
    y[r] = (int64_t)place;
  }
}
"""


def forward(self, x):
    if x.shape[1] == 0:
        raise ValueError("rows must hold something")
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
