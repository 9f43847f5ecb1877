# problem: scatter_unique
# about: threads write rows to their places, none of which is another's

cpp = r"""
extern "C" void run(float* memory, const float* rows, const int64_t* places, int64_t count, int64_t n) {
  #pragma omp parallel for schedule(static, 1)
  for (int64_t r = 0; r < count; ++r) for (int64_t i = 0; i < n; ++i) memory[places[r] * n + i] = 0.5f * rows[r * n + i];
}
"""


def forward(self, memory, rows, places):
    count, n = rows.shape
    if memory.dim() != 2 or memory.shape[1] != n or places.shape != (count,) or not memory.is_contiguous():
        raise ValueError("a dense memory and a place for each row")
    if count and not 0 <= int(places.min()) <= int(places.max()) < memory.shape[0]:
        raise IndexError("no such place")
    lib.run(memory, rows.contiguous(), places.contiguous(), count, n)
    return memory
