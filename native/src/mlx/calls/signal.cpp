// Fourier transforms and recurrent layers.
#include "family.h"

#include <mlx/fft.h>

#include <cmath>
#include <complex>
#include <string>

namespace rlx::gpu {
namespace {

Arrays fft(const Invocation& c) {
  const array& x = c.in(0);
  const int n = x.shape(-1) / 2;
  mx::Shape from(x.ndim(), 0), middle = x.shape(), to = x.shape();
  middle.back() = n;
  const array re = mx::astype(mx::slice(x, from, middle), mx::complex64);
  from.back() = n;
  const array im = mx::astype(mx::slice(x, from, to), mx::complex64);
  const array z = mx::add(re, mx::multiply(im, array(std::complex<float>(0, 1))));
  const Attribute* name = c.find("norm");
  const std::string norm = name == nullptr ? "backward" : name->text;
  const auto mode = norm == "ortho"     ? mx::fft::FFTNorm::Ortho
                    : norm == "forward" ? mx::fft::FFTNorm::Forward
                                        : mx::fft::FFTNorm::Backward;
  const array y = c.flag("inverse") ? mx::fft::ifft(z, n, -1, mode) : mx::fft::fft(z, n, -1, mode);
  return {mx::astype(mx::concatenate({mx::real(y), mx::imag(y)}, -1), c.dtype())};
}

// Pairs as they lie in memory, so that no infinity meets a 0 of the other part.
Arrays to_complex(const Invocation& c) {
  const Arrays parts = mx::split(c.in(0), 2, -1);
  const array pairs = mx::contiguous(mx::stack(parts, -1));
  return {mx::reshape(mx::view(pairs, mx::complex64), c.shape())};
}
Arrays from_complex(const Invocation& c) { return {mx::concatenate({mx::real(c.in(0)), mx::imag(c.in(0))}, -1)}; }

// Gates in the order i, f, g, o; blocks of weights lie layer by layer, then by direction.
Arrays lstm(const Invocation& c) {
  const array& x = c.in(0);
  const int batch = x.shape(0), steps = x.shape(1), hidden = c.whole("hidden"), layers = c.whole("layers");
  const int directions = c.flag("bidirectional") ? 2 : 1, cells = layers * directions, gates = 4 * hidden;
  const array w = mx::reshape(c.in(1), {-1}), u = mx::reshape(c.in(2), {cells, gates, hidden}),
              bias = mx::reshape(c.in(3), {cells, gates});
  const auto slot = [](const array& packed, int index) {
    mx::Shape from(packed.ndim(), 0), to = packed.shape();
    from[0] = index;
    to[0] = index + 1;
    return mx::squeeze(mx::slice(packed, from, to), 0);
  };
  Arrays h_end, c_end, sides;
  array layer_in = x;
  int at = 0;
  for (int cell = 0; cell < cells; cell++) {
    const bool reverse = cell % directions == 1;
    const int width = layer_in.shape(2);
    const array own = mx::reshape(mx::slice(w, {at}, {at + gates * width}), {gates, width});
    at += gates * width;
    const array state_weights = mx::transpose(slot(u, cell), {1, 0});
    // The part that does not depend on the state: all steps at once.
    const array outer = mx::add(mx::matmul(layer_in, mx::transpose(own, {1, 0})), slot(bias, cell));
    array h = c.has(4) ? slot(c.in(4), cell) : mx::zeros({batch, hidden}, x.dtype());
    array memory = c.has(5) ? slot(c.in(5), cell) : mx::zeros({batch, hidden}, x.dtype());
    Arrays rows(steps, h);
    for (int step = 0; step < steps; step++) {
      const int t = reverse ? steps - 1 - step : step;
      const array now = mx::squeeze(mx::slice(outer, {0, t, 0}, {batch, t + 1, gates}), 1);
      const Arrays parts = mx::split(mx::add(now, mx::matmul(h, state_weights)), 4, 1);
      memory =
          mx::add(mx::multiply(mx::sigmoid(parts[1]), memory), mx::multiply(mx::sigmoid(parts[0]), mx::tanh(parts[2])));
      h = mx::multiply(mx::sigmoid(parts[3]), mx::tanh(memory));
      rows[t] = h;
    }
    h_end.push_back(h);
    c_end.push_back(memory);
    // MLX stacks no rows to none.
    sides.push_back(steps == 0 ? mx::zeros({batch, 0, hidden}, x.dtype()) : mx::stack(rows, 1));
    if (static_cast<int>(sides.size()) == directions) {
      layer_in = directions == 1 ? sides[0] : mx::concatenate(sides, 2);
      sides.clear();
    }
  }
  return {layer_in, mx::stack(h_end, 0), mx::stack(c_end, 0)};
}

const Function kTable[] = {
    {"fft", 1, 1, fft},
    {"to_complex", 1, 1, to_complex},
    {"from_complex", 1, 1, from_complex},
    {"lstm", 4, 6, lstm},
};

}  // namespace

std::span<const Function> signal_calls() { return kTable; }

}  // namespace rlx::gpu
