# problem: beam_step
# about: online logarithm of the sum and the best few in one pass over the words; then the best of all beams

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
struct One { float value; int64_t place; };
static bool before(const One& a, const One& b) { return a.value > b.value || (a.value == b.value && a.place < b.place); }
extern "C" void run(const float* scores, const float* logits, float* best, int64_t* beam, int64_t* word, int64_t batch, int64_t beams, int64_t words) {
  #pragma omp parallel for
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<One> all;
    for (int64_t k = 0; k < beams; ++k) {
      const float* in = logits + (b * beams + k) * words; std::vector<One> own; float top = -INFINITY;
      for (int64_t w = 0; w < words; ++w) {
        top = in[w] > top ? in[w] : top;
        if ((int64_t)own.size() < beams) { own.push_back({in[w], w}); std::push_heap(own.begin(), own.end(), before); }
        else if (in[w] > own.front().value) {
          std::pop_heap(own.begin(), own.end(), before); own.back() = {in[w], w}; std::push_heap(own.begin(), own.end(), before); }
      }
      double sum = 0;
      for (int64_t w = 0; w < words; ++w) sum += std::exp(in[w] - top);
      const float shift = (float)std::log(sum);
      for (const One& one : own) all.push_back({scores[b * beams + k] + ((one.value - top) - shift), k * words + one.place});
    }
    std::partial_sort(all.begin(), all.begin() + beams, all.end(), before);
    for (int64_t k = 0; k < beams; ++k) { best[b * beams + k] = all[k].value; beam[b * beams + k] = all[k].place / words; word[b * beams + k] = all[k].place % words; }
  }
}
"""


def forward(self, scores, logits):
    batch, beams, words = logits.shape
    if scores.shape != (batch, beams) or words < 1 or beams < 1:
        raise ValueError("limited to a score for each beam and one word at least")
    best = torch.empty(batch, beams)
    beam, word = (torch.empty(batch, beams, dtype=torch.int64) for _ in range(2))
    lib.run(scores.contiguous(), logits.contiguous(), best, beam, word, batch, beams, words)
    return best, beam, word
