// Picks over a row of logits: the largest, and the k largest in order.
#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// a comes before b: larger value, or the same value and a lower index.
RLX_INLINE bool before(const TopEntry& a, const TopEntry& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

// Heap with the worst entry at the root.
void sift_down(TopEntry* heap, size_t n, size_t i) {
  for (;;) {
    size_t worst = i;
    for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < n; ++c) {
      if (before(heap[worst], heap[c])) worst = c;
    }
    if (worst == i) return;
    const TopEntry t = heap[i];
    heap[i] = heap[worst];
    heap[worst] = t;
    i = worst;
  }
}

void sift_up(TopEntry* heap, size_t i) {
  while (i > 0) {
    const size_t parent = (i - 1) / 2;
    if (!before(heap[parent], heap[i])) return;
    const TopEntry t = heap[i];
    heap[i] = heap[parent];
    heap[parent] = t;
    i = parent;
  }
}

// Largest of up to 64 values; NaN is skipped. Minus infinity when all are NaN.
float block_max(const float* x, size_t n) {
  float m = bits_to_f32(0xff800000u);
  size_t i = 0;
  if (n >= W) {
    F v = fset(m);
    // Order matters: a NaN in the first operand gives the second on x86; arm64 returns NaN, handled
    // by the caller.
    for (; i + W <= n; i += W) v = fmax(fload(x + i), v);
    m = fhmax(v);
  }
  for (; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

}  // namespace

size_t argmax(const float* x, size_t n) {
  size_t best = 0;
  bool found = false;
  for (size_t block = 0; block < n; block += 64) {
    const size_t end = min_size(n, block + 64);
    if (found && block_max(x + block, end - block) <= x[best]) continue;  // false when NaN: look closely
    for (size_t i = block; i < end; ++i) {
      if (x[i] != x[i]) continue;
      if (!found || x[i] > x[best]) {
        best = i;
        found = true;
      }
    }
  }
  return best;
}

size_t top_k(const float* x, size_t n, TopEntry* out, size_t count) {
  size_t size = 0;
  if (count == 0) return 0;
  for (size_t block = 0; block < n; block += 64) {
    const size_t end = min_size(n, block + 64);
    if (size == count && block_max(x + block, end - block) <= out[0].value) continue;
    for (size_t i = block; i < end; ++i) {
      if (x[i] != x[i]) continue;
      const TopEntry e = {x[i], static_cast<uint32_t>(i)};
      if (size < count) {
        out[size] = e;
        sift_up(out, size++);
      } else if (before(e, out[0])) {
        out[0] = e;
        sift_down(out, size, 0);
      }
    }
  }
  // Heap sort: the worst goes to the end each time.
  for (size_t left = size; left > 1; --left) {
    const TopEntry t = out[0];
    out[0] = out[left - 1];
    out[left - 1] = t;
    sift_down(out, left - 1, 0);
  }
  return size;
}

}  // namespace rlx::kernels::RLX_ISA
