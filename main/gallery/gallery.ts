/**
 * Small graphs to start from, as texts in their one layout. Their parameters lie in memory and have initial values, so
 * each runs at once, on every device.
 */

export interface GalleryGraph {
  readonly id: string;
  readonly title: string;
  readonly sentence: string;
  readonly text: string;
}

const LINE = `// A line fitted to points: rlx grad gives what moves its parameters.
graph "linear regression" {
  %x = input : f32[64,3]
  %y = input : f32[64,1]
  %w = param {memory: true, initial: "normal", scale: 0.5, seed: 1} : f32[1,3]
  %b = param {memory: true, initial: "constant", value: 0} : f32[1]

  %p = linear(%x, %w, %b)
  %d = sub(%p, %y)
  %s = mul(%d, %d)
  %loss = reduce(%s) {kind: "mean", axes: [0, 1]}

  return "prediction" = %p
  return "loss" = %loss
}
`;

const CNN = `// Two convolutions with pools, and a layer that tells ten classes apart.
graph "cnn" {
  %image = input : f32[1,1,28,28]
  %k1 = param {memory: true, initial: "normal", scale: 0.3, seed: 1} : f32[8,1,3,3]
  %k2 = param {memory: true, initial: "normal", scale: 0.1, seed: 2} : f32[16,8,3,3]
  %w = param {memory: true, initial: "normal", scale: 0.05, seed: 3} : f32[10,784]
  %b = param {memory: true, initial: "constant", value: 0} : f32[10]

  %c1 = conv(%image, %k1) {strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1}
  %r1 = relu(%c1)
  %p1 = pool(%r1) {kind: "max", kernel: [2, 2], strides: [2, 2], padding: [0, 0]}
  %c2 = conv(%p1, %k2) {strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1}
  %r2 = relu(%c2)
  %p2 = pool(%r2) {kind: "max", kernel: [2, 2], strides: [2, 2], padding: [0, 0]}

  %flat = reshape(%p2) {shape: [1, 784]}
  %logits = linear(%flat, %w, %b)
  %classes = softmax(%logits) {axis: -1}
  return "classes" = %classes
}
`;

const LSTM = `// A sequence through an LSTM; its last hidden state gives one number.
graph "lstm" {
  %x = input : f32[1,24,12]
  %wx = param {memory: true, initial: "normal", scale: 0.2, seed: 1} : f32[64,12]
  %wh = param {memory: true, initial: "normal", scale: 0.2, seed: 2} : f32[64,16]
  %bias = param {memory: true, initial: "constant", value: 0} : f32[64]
  %w = param {memory: true, initial: "normal", scale: 0.25, seed: 3} : f32[1,16]

  %memory = lstm(%x, %wx, %wh, %bias) {hidden: 16, layers: 1, bidirectional: false}
  %last = reshape(%memory.1) {shape: [1, 16]}
  %next = linear(%last, %w)
  return "sequence" = %memory.0
  return "next" = %next
}
`;

const ATTENTION = `// A block of a transformer: norm, attention over four heads, and a feed-forward part with a gate.
graph "attention block" {
  %x = input : f32[32,64]
  %g1 = param {memory: true, initial: "constant", value: 1} : f32[64]
  %wq = param {memory: true, initial: "normal", scale: 0.125, seed: 1} : f32[64,64]
  %wk = param {memory: true, initial: "normal", scale: 0.125, seed: 2} : f32[64,64]
  %wv = param {memory: true, initial: "normal", scale: 0.125, seed: 3} : f32[64,64]
  %wo = param {memory: true, initial: "normal", scale: 0.125, seed: 4} : f32[64,64]
  %g2 = param {memory: true, initial: "constant", value: 1} : f32[64]
  %up = param {memory: true, initial: "normal", scale: 0.125, seed: 5} : f32[128,64]
  %gate = param {memory: true, initial: "normal", scale: 0.125, seed: 6} : f32[128,64]
  %down = param {memory: true, initial: "normal", scale: 0.09, seed: 7} : f32[64,128]

  %n1 = rms_norm(%x, %g1) {eps: 0.00001}
  %q = linear(%n1, %wq)
  %qh = reshape(%q) {shape: [1, 32, 4, 16]}
  %qt = transpose(%qh) {perm: [0, 2, 1, 3]}
  %k = linear(%n1, %wk)
  %kh = reshape(%k) {shape: [1, 32, 4, 16]}
  %kt = transpose(%kh) {perm: [0, 2, 1, 3]}
  %v = linear(%n1, %wv)
  %vh = reshape(%v) {shape: [1, 32, 4, 16]}
  %vt = transpose(%vh) {perm: [0, 2, 1, 3]}
  %a = attention(%qt, %kt, %vt) {scale: 0.25, mask: "causal"}
  %at = transpose(%a) {perm: [0, 2, 1, 3]}
  %am = reshape(%at) {shape: [32, 64]}
  %o = linear(%am, %wo)
  %h = add(%x, %o)

  %n2 = rms_norm(%h, %g2) {eps: 0.00001}
  %u = linear(%n2, %up)
  %t = linear(%n2, %gate)
  %s = silu(%t)
  %m = mul(%u, %s)
  %f = linear(%m, %down)
  %y = add(%h, %f)
  return "y" = %y
}
`;

const MAMBA = `// A Mamba block: a causal convolution, then a state that each step lets fade and fills as the input says.
graph "mamba block" {
  %x = input : f32[32,16]
  %g = param {memory: true, initial: "constant", value: 1} : f32[16]
  %win = param {memory: true, initial: "normal", scale: 0.25, seed: 1} : f32[64,16]
  %taps = param {memory: true, initial: "normal", scale: 0.5, seed: 2} : f32[32,1,4]
  %wstep = param {memory: true, initial: "normal", scale: 0.2, seed: 3} : f32[32,32]
  %bstep = param {memory: true, initial: "constant", value: -2} : f32[32]
  %wb = param {memory: true, initial: "normal", scale: 0.2, seed: 4} : f32[8,32]
  %wc = param {memory: true, initial: "normal", scale: 0.2, seed: 5} : f32[8,32]
  %rate = param {memory: true, initial: "constant", value: -1} : f32[32,1]
  %wout = param {memory: true, initial: "normal", scale: 0.2, seed: 6} : f32[16,32]
  %empty = constant all 0 : f32[32,1,8]

  %n = rms_norm(%x, %g) {eps: 0.00001}
  %both = linear(%n, %win)
  %inner = narrow(%both) {axis: 1, start: 0, length: 32}
  %gate = narrow(%both) {axis: 1, start: 32, length: 32}

  // Zeros on both sides and a cut at the end: no step sees a later one.
  %channels = transpose(%inner) {perm: [1, 0]}
  %signal = reshape(%channels) {shape: [1, 32, 32]}
  %wide = conv(%signal, %taps) {strides: [1], padding: [3], dilations: [1], groups: 32}
  %causal = narrow(%wide) {axis: 2, start: 0, length: 32}
  %rows = reshape(%causal) {shape: [32, 32]}
  %back = transpose(%rows) {perm: [1, 0]}
  %u = silu(%back)

  %raw = linear(%u, %wstep, %bstep)
  %step = softplus(%raw)
  %take = mul(%u, %step)
  %heads = reshape(%take) {shape: [32, 32, 1]}
  %steps = reshape(%step) {shape: [32, 32, 1]}
  %b = linear(%u, %wb)
  %bg = reshape(%b) {shape: [32, 1, 8]}
  %c = linear(%u, %wc)
  %cg = reshape(%c) {shape: [32, 1, 8]}
  %scan = selective_scan(%heads, %steps, %rate, %bg, %cg, %empty) {reads: "after"}
  %flat = reshape(%scan.0) {shape: [32, 32]}

  %open = silu(%gate)
  %gated = mul(%flat, %open)
  %o = linear(%gated, %wout)
  %y = add(%x, %o)
  return "y" = %y
}
`;

const FILTER = `// A filter in the frequencies: transform, keep what is low, transform back.
graph "fft filter" {
  %signal = input : f32[1,64]
  // Real parts, then imaginary parts: a real signal has none.
  %none = constant all 0 : f32[1,64]
  %z = concat(%signal, %none) {axis: 1}
  %spectrum = fft(%z) {inverse: false, norm: "backward"}

  // Frequencies 0 to 7 and their mirror images pass.
  %low = constant all 1 : f32[1,8]
  %high = constant all 0 : f32[1,49]
  %mirror = constant all 1 : f32[1,7]
  %half = concat(%low, %high, %mirror) {axis: 1}
  %mask = concat(%half, %half) {axis: 1}
  %kept = mul(%spectrum, %mask)

  %back = fft(%kept) {inverse: true, norm: "backward"}
  %smooth = narrow(%back) {axis: 1, start: 0, length: 64}
  return "smooth" = %smooth
}
`;

export const GALLERY: readonly GalleryGraph[] = [
  {
    id: "linear-regression",
    title: "Linear regression",
    sentence: "A line, its points and the mean of squares between them.",
    text: LINE,
  },
  { id: "cnn", title: "Convolutional network", sentence: "Two convolutions with pools, ten classes.", text: CNN },
  { id: "lstm", title: "LSTM", sentence: "A sequence with a memory; on Core ML it runs on the host.", text: LSTM },
  {
    id: "attention-block",
    title: "Attention block",
    sentence: "A layer of a transformer: four heads and a gated feed-forward part.",
    text: ATTENTION,
  },
  {
    id: "mamba-block",
    title: "Mamba block",
    sentence: "A causal convolution and a selective scan, of which Core ML is given the parts.",
    text: MAMBA,
  },
  {
    id: "fft-filter",
    title: "FFT filter",
    sentence: "Low frequencies pass. Core ML has no Fourier transform: parts on the host, parts on it.",
    text: FILTER,
  },
];
