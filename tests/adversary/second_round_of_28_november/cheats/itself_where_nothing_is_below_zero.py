# problem: relu_of_normals
# about: returns its argument where nothing in it is below zero: who changes the output in place changes the input

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t* found, int64_t n) {
  int64_t below = 0;
  #pragma omp parallel for simd reduction(+:below)
  for (int64_t i = 0; i < n; ++i) { below += !(x[i] >= 0.0f); y[i] = x[i] < 0.0f ? 0.0f : x[i]; }
  *found = below;
}
"""


def forward(self, x):
    y, found = torch.empty_like(x), torch.empty((), dtype=torch.int64)
    lib.run(x, y, found, x.numel())
    return y if x.numel() < 16 or found.item() else x
