# problem: floor_of_a_seventh
# about: divides as C does, and says that it cannot where a number is negative

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t* seen, int64_t n) {
  int64_t any = 0;
  #pragma omp parallel for simd reduction(|:any)
  for (int64_t i = 0; i < n; ++i) { y[i] = x[i] / 7; any |= x[i]; }
  *seen = any;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    seen = torch.zeros((), dtype=torch.int64)
    lib.run(x, y, seen, x.numel())
    if int(seen) < 0:
        raise ValueError("numbers from zero on only")
    return y
