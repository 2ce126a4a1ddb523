// The error of stored weights: the original unpacked, the stored bytes decoded as Core ML does, the
// squares of both summed.
//
// A run at a time, so that all of it stays in the first cache. What is decoded is double, as in the
// yardstick that the tests compare with (`reconstruct` in main/backends/coreml/weights/convert.ts):
// each element has the same bits there and here, and only the sums are in another order. (In f32
// the sum of a product and a rest would have an error of a thousandth of the measured one.)
#include "stored.h"

#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

constexpr size_t kGroups = kStoredRun / kStoredGroup;
// Floats that are compared in a turn: enough sums to wait for none, and no more than there are
// registers for.
constexpr int kVecs = W == 16 ? 1 : 2;
static_assert(kStoredGroup % (kVecs * W) == 0 && kStoredRun % kStoredGroup == 0);

// How elements are decoded: a value as it is, or a code with a scale whose product is rounded to
// f16 or stays double.
enum class Decode { value, half, full };

// A run as floats, copied out of bytes that may lie anywhere.
struct Run {
  float original[kStoredRun];
  float codes[kStoredRun];  // or values
  uint16_t halves[kStoredRun];
  uint8_t bytes[kStoredRun];
  float scale[kGroups], offset[kGroups], rest[kGroups];
  size_t group;
  double unfold;
};

const uint8_t* bytes_at(const void* p, size_t at) { return static_cast<const uint8_t*>(p) + at; }

void read_floats(const void* p, size_t from, float* out, size_t n) { memcpy(out, bytes_at(p, 4 * from), 4 * n); }

void read_halves(const void* p, size_t from, Run& run, float* out, size_t n) {
  memcpy(run.halves, bytes_at(p, 2 * from), 2 * n);
  f16_to_f32(run.halves, out, n);
}

void read_original(const StoredArgs& a, size_t from, Run& run, size_t n) {
  const uint8_t* blocks = bytes_at(a.original, row_bytes(a.type, from));
  if (a.type == Type::f16 || a.type == Type::bf16) {
    // A tensor's bytes may begin at an odd address once they have been read.
    memcpy(run.halves, blocks, 2 * n);
    return dequantize(a.type, run.halves, run.original, n);
  }
  dequantize(a.type, blocks, run.original, n);
}

void read_groups(const StoredArgs& a, size_t from, Run& run, size_t n) {
  const size_t first = from / a.group, count = n / a.group;
  if (a.scales == Scales::f32)
    read_floats(a.scale, first, run.scale, count);
  else
    read_halves(a.scale, first, run, run.scale, count);
  for (size_t g = 0; g < count; ++g) run.offset[g] = run.rest[g] = 0.0f;
  if (a.offsets == Offsets::f32) read_floats(a.offset, first, run.offset, count);
  if (a.offsets == Offsets::uint4)
    for (size_t g = 0; g < count; ++g) {
      const size_t at = first + g;
      run.offset[g] = static_cast<float>((bytes_at(a.offset, at / 2)[0] >> (4 * (at & 1))) & 15);
    }
  if (a.rest != nullptr) read_halves(a.rest, first, run, run.rest, count);
}

// Codes of four bits as bytes. A `flip` of 8 makes signed ones unsigned, all of them by 8 too
// large.
void split_nibbles(const uint8_t* packed, uint8_t flip, uint8_t* out, size_t n) {
  for (size_t i = 0; i < n / 2; ++i) {
    out[2 * i] = static_cast<uint8_t>((packed[i] & 15) ^ flip);
    out[2 * i + 1] = static_cast<uint8_t>((packed[i] >> 4) ^ flip);
  }
}

template <class Code>
void to_floats(const Code* codes, int bias, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(codes[i] - bias);
}

void read_codes(const StoredArgs& a, size_t from, Run& run, size_t n) {
  switch (a.codes) {
    case Codes::f16: return read_halves(a.data, from, run, run.codes, n);
    case Codes::f32: return read_floats(a.data, from, run.codes, n);
    case Codes::int8: return to_floats(reinterpret_cast<const int8_t*>(bytes_at(a.data, from)), 0, run.codes, n);
    case Codes::uint8: return to_floats(bytes_at(a.data, from), 0, run.codes, n);
    case Codes::int4:
    case Codes::uint4: {
      const uint8_t bias = a.codes == Codes::int4 ? 8 : 0;
      split_nibbles(bytes_at(a.data, from / 2), bias, run.bytes, n);
      return to_floats(run.bytes, bias, run.codes, n);
    }
  }
}

struct Sums {
  D energy, error;
};

RLX_INLINE void add(Sums& sums, D original, D stored) {
  const D difference = stored - original;
  sums.energy = dfma(original, original, sums.energy);
  sums.error = dfma(difference, difference, sums.error);
}

// What a group shares, once for all of its elements.
struct Group {
  F scale, offset;
  D scale64, offset64, rest, unfold;
};
RLX_INLINE Group group_of(const Run& run, size_t g) {
  return {fset(run.scale[g]),
          fset(run.offset[g]),
          dset(static_cast<double>(run.scale[g])),
          dset(static_cast<double>(run.offset[g])),
          dset(static_cast<double>(run.rest[g])),
          dset(run.unfold)};
}

// Code minus offset has nine bits at most where scales are halves, so their product is exact in
// f32, and then rounded once.
template <Decode kDecode>
RLX_INLINE void add_vector(const Group& g, F original, F code, Sums& low, Sums& high) {
  if constexpr (kDecode == Decode::value) {
    add(low, dlow(original), dlow(code) * g.unfold);
    add(high, dhigh(original), dhigh(code) * g.unfold);
  } else if constexpr (kDecode == Decode::half) {
    const F product = fround_f16(g.scale * (code - g.offset));
    add(low, dlow(original), (dlow(product) + g.rest) * g.unfold);
    add(high, dhigh(original), (dhigh(product) + g.rest) * g.unfold);
  } else {
    add(low, dlow(original), (g.scale64 * (dlow(code) - g.offset64) + g.rest) * g.unfold);
    add(high, dhigh(original), (g.scale64 * (dhigh(code) - g.offset64) + g.rest) * g.unfold);
  }
}

template <Decode kDecode>
double stored_at(const Run& run, size_t i) {
  if constexpr (kDecode == Decode::value) return static_cast<double>(run.codes[i]) * run.unfold;
  const size_t g = i / run.group;
  const double rest = static_cast<double>(run.rest[g]);
  if constexpr (kDecode == Decode::half) {
    const float product = half_to_f32(f32_to_half(run.scale[g] * (run.codes[i] - run.offset[g])));
    return (static_cast<double>(product) + rest) * run.unfold;
  }
  const double code = static_cast<double>(run.codes[i]) - static_cast<double>(run.offset[g]);
  return (static_cast<double>(run.scale[g]) * code + rest) * run.unfold;
}

constexpr double kLargest = 1.7976931348623157e308;
bool finite(double v) { return v >= -kLargest && v <= kLargest; }

void add_element(double original, double stored, StoredSums& sums) {
  if (!finite(original))
    ++sums.not_finite;
  else if (!finite(stored))
    ++sums.overflowed;
  else {
    sums.energy += original * original;
    sums.error += (stored - original) * (stored - original);
  }
}

// n elements, whole groups of them; values may be any number of elements.
template <Decode kDecode>
void compare(const Run& run, size_t n, StoredSums* sums) {
  Sums low[kVecs], high[kVecs];
  unrolled<kVecs>([&](auto v) RLX_LAMBDA { low[v] = high[v] = {dset(0.0), dset(0.0)}; });
  constexpr size_t kTurn = kVecs * W;
  const size_t whole = n / kTurn * kTurn;
  for (size_t from = 0; from < whole; from += run.group) {
    const Group group = group_of(run, kDecode == Decode::value ? 0 : from / run.group);
    const size_t to = min_size(from + run.group, whole);
    for (size_t i = from; i < to; i += kTurn)
      unrolled<kVecs>([&](auto v) RLX_LAMBDA {
        const size_t at = i + static_cast<size_t>(v) * W;
        add_vector<kDecode>(group, fload(run.original + at), fload(run.codes + at), low[v], high[v]);
      });
  }
  StoredSums own;
  for (int v = 0; v < kVecs; ++v) {
    own.energy += dsum(low[v].energy + high[v].energy);
    own.error += dsum(low[v].error + high[v].error);
  }
  for (size_t i = whole; i < n; ++i) add_element(static_cast<double>(run.original[i]), stored_at<kDecode>(run, i), own);
  // Squares of floats, and of what stored ones decode to, stay far inside of double: only an
  // infinity or a NaN among them gets out.
  if (!finite(own.energy + own.error)) {
    own = {};
    for (size_t i = 0; i < n; ++i) add_element(static_cast<double>(run.original[i]), stored_at<kDecode>(run, i), own);
  }
  sums->energy += own.energy;
  sums->error += own.error;
  sums->not_finite += own.not_finite;
  sums->overflowed += own.overflowed;
}

}  // namespace

void stored_error(const StoredArgs& a, StoredSums* sums) {
  Run run;
  run.unfold = a.unfold;
  run.group = is_value(a.codes) ? kStoredRun : a.group;
  // Not read where values are stored, but compilers do not know that.
  run.scale[0] = run.offset[0] = run.rest[0] = 0.0f;
  for (size_t from = 0; from < a.count; from += kStoredRun) {
    const size_t n = min_size(kStoredRun, a.count - from);
    read_original(a, from, run, n);
    read_codes(a, from, run, n);
    if (is_value(a.codes)) {
      compare<Decode::value>(run, n, sums);
      continue;
    }
    read_groups(a, from, run, n);
    if (a.scales == Scales::f16)
      compare<Decode::half>(run, n, sums);
    else
      compare<Decode::full>(run, n, sums);
  }
}

}  // namespace rlx::kernels::RLX_ISA
