// The error of stored weights against a plain double loop over the definition of each form, which
// unpacks by itself.
#include <algorithm>
#include <limits>

#include "blocks.h"

using namespace test;

namespace {

const Codes kPackedCodes[] = {Codes::int4, Codes::uint4, Codes::int8, Codes::uint8};
constexpr uint16_t kHalfInfinity = 0x7c00, kHalfNan = 0x7e00;

double defined_half(uint16_t h) {
  const int e = h >> 10 & 31, m = h & 1023;
  const double sign = (h & 0x8000) != 0 ? -1.0 : 1.0;
  if (e == 31)
    return m == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return sign * (e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25));
}

// All of them by the definition, once.
double half_value(uint16_t h) {
  static const std::vector<double> all = [] {
    std::vector<double> values(65536);
    for (size_t i = 0; i < values.size(); ++i) values[i] = defined_half(static_cast<uint16_t>(i));
    return values;
  }();
  return all[h];
}

// The nearest half, even at ties.
double half_of(double v) {
  if (!std::isfinite(v) || v == 0.0) return v;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(v), -14) - 10);
  const double near = std::nearbyint(v / unit) * unit;
  return std::fabs(near) > 65504.0 ? std::copysign(std::numeric_limits<double>::infinity(), v) : near;
}

template <class T>
T load(const uint8_t* p, size_t i) {
  T v;
  std::memcpy(&v, p + i * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void store(uint8_t* p, size_t i, T v) {
  std::memcpy(p + i * sizeof(T), &v, sizeof(T));
}

// Bytes at an odd address, exactly as many as are needed.
struct Odd {
  Buffer memory;
  size_t size;
  explicit Odd(size_t bytes) : memory(buffer(bytes + 1)), size(bytes) {}
  uint8_t* data() const { return memory.get() + 1; }
};

int nibble(const uint8_t* p, size_t i) { return p[i / 2] >> (4 * (i & 1)) & 15; }

double code_at(Codes codes, const uint8_t* data, size_t i) {
  switch (codes) {
    case Codes::f16: return half_value(load<uint16_t>(data, i));
    case Codes::f32: return static_cast<double>(load<float>(data, i));
    case Codes::int4: return nibble(data, i) < 8 ? nibble(data, i) : nibble(data, i) - 16;
    case Codes::uint4: return nibble(data, i);
    case Codes::int8: return static_cast<int8_t>(data[i]);
    case Codes::uint8: return data[i];
  }
  return 0.0;
}

size_t code_bytes(Codes codes, size_t count) {
  switch (codes) {
    case Codes::f16: return 2 * count;
    case Codes::f32: return 4 * count;
    case Codes::int4:
    case Codes::uint4: return count / 2;
    case Codes::int8:
    case Codes::uint8: return count;
  }
  return 0;
}

// Before it is unfolded.
double stored_value(const StoredArgs& a, size_t i) {
  const auto bytes = [](const void* p) { return static_cast<const uint8_t*>(p); };
  const double code = code_at(a.codes, bytes(a.data), i);
  if (is_value(a.codes)) return code;
  const size_t g = i / a.group;
  const double offset = a.offsets == Offsets::none    ? 0.0
                        : a.offsets == Offsets::uint4 ? nibble(bytes(a.offset), g)
                                                      : static_cast<double>(load<float>(bytes(a.offset), g));
  const double rest = a.rest == nullptr ? 0.0 : half_value(load<uint16_t>(bytes(a.rest), g));
  const double product = a.scales == Scales::f16
                             ? half_of(half_value(load<uint16_t>(bytes(a.scale), g)) * (code - offset))
                             : static_cast<double>(load<float>(bytes(a.scale), g)) * (code - offset);
  return product + rest;
}

struct Values {
  std::vector<float> original;
  std::vector<double> stored;
};

Values values_of(const StoredArgs& a) {
  Values values{std::vector<float>(a.count), std::vector<double>(a.count)};
  if (a.count == 0) return values;
  const size_t bytes = row_bytes(a.type, a.count);
  const Buffer even = buffer(bytes);
  std::memcpy(even.get(), a.original, bytes);
  dispatch_for(Isa::scalar)->dequantize(a.type, even.get(), values.original.data(), a.count);
  for (size_t i = 0; i < a.count; ++i) values.stored[i] = stored_value(a, i);
  return values;
}

StoredSums expected(const Values& values, double unfold) {
  StoredSums sums;
  for (size_t i = 0; i < values.original.size(); ++i) {
    const double value = static_cast<double>(values.original[i]), stored = values.stored[i] * unfold;
    if (!std::isfinite(value))
      ++sums.not_finite;
    else if (!std::isfinite(stored))
      ++sums.overflowed;
    else {
      sums.energy += value * value;
      sums.error += (stored - value) * (stored - value);
    }
  }
  return sums;
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-11 * std::fabs(b); }

void check_sums(const Dispatch& k, const StoredArgs& a, const Values& values, const char* what) {
  const StoredSums want = expected(values, a.unfold);
  StoredSums got;
  k.stored_error(a, &got);
  ++checks;
  if (near(got.energy, want.energy) && near(got.error, want.error) && got.not_finite == want.not_finite &&
      got.overflowed == want.overflowed)
    return;
  fail(
      "%s %s codes %d scales %d offsets %d rest %d group %zu count %zu: got %.17g %.17g %llu %llu, expected %.17g "
      "%.17g %llu %llu",
      what, type_info(a.type).name, static_cast<int>(a.codes), static_cast<int>(a.scales), static_cast<int>(a.offsets),
      a.rest != nullptr, a.group, a.count, got.energy, got.error, static_cast<unsigned long long>(got.not_finite),
      static_cast<unsigned long long>(got.overflowed), want.energy, want.error,
      static_cast<unsigned long long>(want.not_finite), static_cast<unsigned long long>(want.overflowed));
}
void check_sums(const Dispatch& k, const StoredArgs& a, const char* what) { check_sums(k, a, values_of(a), what); }
void check_folded_too(const Dispatch& k, StoredArgs a, double unfold, const char* what) {
  const Values values = values_of(a);
  check_sums(k, a, values, what);
  a.unfold = unfold;
  check_sums(k, a, values, what);
}

// Arrays for one layout, all of them at odd addresses.
struct Rows {
  Odd original, data, scale, offset, rest;
  StoredArgs args;

  Rows(Type type, Codes codes, Scales scales, Offsets offsets, bool has_rest, size_t group, size_t count,
       Random& random)
      : original(row_bytes(type, count)),
        data(code_bytes(codes, count)),
        scale(is_value(codes) ? 0 : count / group * (scales == Scales::f32 ? 4 : 2)),
        offset(is_value(codes) || offsets == Offsets::none ? 0
               : offsets == Offsets::f32                   ? count / group * 4
                                                           : (count / group + 1) / 2),
        rest(is_value(codes) || !has_rest ? 0 : count / group * 2) {
    args = {
        .type = type, .original = original.data(), .count = count, .codes = codes, .data = data.data(), .group = group};
    args.scales = scales;
    args.offsets = offsets;
    random_blocks(type, original.data(), count / type_info(type).block, random);
    for (size_t i = 0; i < data.size; ++i) data.data()[i] = static_cast<uint8_t>(random.bits());
    if (codes == Codes::f16)
      for (size_t i = 0; i < count; ++i) store(data.data(), i, half(random));
    if (codes == Codes::f32)
      for (size_t i = 0; i < count; ++i) store(data.data(), i, random.uniform());
    if (is_value(codes)) return;
    const size_t groups = count / group;
    args.scale = scale.data();
    for (size_t g = 0; g < groups; ++g) {
      if (scales == Scales::f16)
        store(scale.data(), g, half(random));
      else
        store(scale.data(), g, 0.01f * random.uniform());
      if (offsets == Offsets::f32) store(offset.data(), g, 16.0f * random.uniform());
      if (has_rest) store(rest.data(), g, half(random));
    }
    if (offsets == Offsets::uint4)
      for (size_t i = 0; i < offset.size; ++i) offset.data()[i] = static_cast<uint8_t>(random.bits());
    if (offsets != Offsets::none) args.offset = offset.data();
    if (has_rest) args.rest = rest.data();
  }

  // Subnormal ones, too.
  static uint16_t half(Random& random) {
    return static_cast<uint16_t>(random.below(0x3000) + (random.bits() & 0x8000u));
  }
};

template <class Body>
void each_layout(Body&& body) {
  for (Codes codes : kPackedCodes)
    for (Scales scales : {Scales::f16, Scales::f32})
      for (Offsets offsets : {Offsets::none, Offsets::uint4, Offsets::f32})
        for (bool rest : {false, true})
          if (offsets != Offsets::f32 || scales == Scales::f32) body(codes, scales, offsets, rest);
}

}  // namespace

TEST_CASE("stored weights: every layout of codes against plain doubles") {
  if (borrows(k, &Dispatch::stored_error)) return;
  Random random(41);
  each_layout([&](Codes codes, Scales scales, Offsets offsets, bool rest) {
    for (Type type : kAll) {
      const size_t block = std::max<size_t>(type_info(type).block, 16);
      for (size_t group : {size_t{16}, size_t{32}, size_t{256}, size_t{1024}}) {
        // A single group, an odd number of them with a run and a piece of one, and none at all.
        const size_t step = std::max(block, group);
        for (size_t count : {size_t{0}, step, (kStoredRun / step + 1) * step + step}) {
          const Rows rows(type, codes, scales, offsets, rest, group, count, random);
          check_folded_too(k, rows.args, 0.125, "codes");
        }
      }
    }
  });
}

TEST_CASE("stored weights: values of any number") {
  if (borrows(k, &Dispatch::stored_error)) return;
  Random random(42);
  for (Codes codes : {Codes::f16, Codes::f32})
    for (Type type : kAll)
      for (size_t blocks : {1, 2, 3, 7, 15, 16, 17, 31, 33, 65, 1023, 1024, 1025, 2051}) {
        if (type_info(type).block > 1 && blocks > 65) continue;
        const Rows rows(type, codes, Scales::f16, Offsets::none, false, 0, blocks * type_info(type).block, random);
        check_folded_too(k, rows.args, 1024.0, "values");
      }
}

TEST_CASE("stored weights: what is not finite is counted and in neither sum") {
  if (borrows(k, &Dispatch::stored_error)) return;
  Random random(43);
  for (float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()})
    for (size_t at : {size_t{0}, size_t{15}, size_t{1023}, size_t{1024}, size_t{1100}}) {
      Rows own(Type::f32, Codes::f32, Scales::f16, Offsets::none, false, 0, 1101, random);
      store(own.original.data(), at, bad);
      check_sums(k, own.args, "not finite in the file");
      store(own.data.data(), (at + 7) % 1101, bad);
      check_sums(k, own.args, "in both, at two places");
      store(own.data.data(), at, bad);
      check_sums(k, own.args, "in both, at one place too");
    }
  each_layout([&](Codes codes, Scales scales, Offsets offsets, bool rest) {
    Rows rows(Type::f32, codes, scales, offsets, rest, 32, 2080, random);
    for (uint16_t bad : {kHalfInfinity, kHalfNan}) {
      if (scales == Scales::f16)
        store(rows.scale.data(), 33, bad);
      else
        store(rows.scale.data(), 33, static_cast<float>(half_value(bad)));
      check_sums(k, rows.args, "scale");
      if (rest) store(rows.rest.data(), 64, bad);
      check_sums(k, rows.args, "rest");
    }
    // The product is too large for a half, which it is rounded to.
    if (scales == Scales::f16) store<uint16_t>(rows.scale.data(), 1, 0x7bff);
    check_sums(k, rows.args, "overflow");
  });
}

TEST_CASE("stored weights: the largest floats stay inside of the sums, and a single changed code is seen") {
  if (borrows(k, &Dispatch::stored_error)) return;
  Random random(44);
  Rows large(Type::f32, Codes::f32, Scales::f16, Offsets::none, false, 0, 1040, random);
  for (size_t i = 0; i < 1040; ++i) {
    store(large.original.data(), i, std::numeric_limits<float>::max());
    store(large.data.data(), i, -std::numeric_limits<float>::max());
  }
  check_sums(k, large.args, "largest");
  Rows rows(Type::q8_0, Codes::int8, Scales::f16, Offsets::none, false, 32, 2080, random);
  StoredSums before;
  k.stored_error(rows.args, &before);
  rows.data.data()[2079] ^= 0x40;
  StoredSums after;
  k.stored_error(rows.args, &after);
  check("changed", before.error != after.error);
  // What was there is added to.
  StoredSums both = before;
  k.stored_error(rows.args, &both);
  check("added", near(both.error, before.error + after.error) && near(both.energy, before.energy + after.energy));
}
