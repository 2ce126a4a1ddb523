// Micro-benchmark of the CPU kernels. Prints one JSON object.
//   kernels_bench [--isa NAME] [--threads 1,2] [--repeats N] [--only matvec|few|cached|gemm|types|attention] [--types a,b]
// Matvec rates are weight bytes per second and their ratio to a plain read loop interleaved with
// them.
#include <memory>

#include "read_loop.h"
#include "support.h"

using namespace bench;

namespace {

struct Options {
  const Dispatch* table = nullptr;
  std::vector<int> threads = {1, 2};
  int repeats = 5;
  std::string only;
  std::vector<Type> types;  // of `--only types`
};

struct Range {
  size_t from, to;
};
// Part i of n rows in multiples of kRowStep.
Range part(size_t n, int i, int parts) {
  const size_t steps = (n + kRowStep - 1) / kRowStep;
  const size_t a = steps * static_cast<size_t>(i) / static_cast<size_t>(parts) * kRowStep;
  const size_t b = steps * static_cast<size_t>(i + 1) / static_cast<size_t>(parts) * kRowStep;
  return {std::min(a, n), std::min(b, n)};
}

void repeat_pattern(uint8_t* p, size_t pattern, size_t total) {
  for (size_t at = pattern; at < total; at += pattern) memcpy(p + at, p, std::min(pattern, total - at));
}

struct Matrix {
  Type type;
  size_t k, n;
  Memory w;
  size_t bytes() const { return n * row_bytes(type, k); }
};
Matrix make_matrix(Type type, size_t k, size_t n) {
  Matrix m = {type, k, n, memory(row_bytes(type, k) * n)};
  const size_t rows = std::min<size_t>(n, 64);
  fill_blocks(type, m.w.get(), rows * k / type_info(type).block);
  repeat_pattern(m.w.get(), rows * row_bytes(type, k), m.bytes());
  return m;
}

std::vector<float> random_floats(size_t n) {
  uint64_t state = 12345;
  std::vector<float> x(n);
  for (float& v : x) v = random_float(state);
  return x;
}

bool first_line = true;
void line(const std::string& text) {
  std::printf("%s\n    %s", first_line ? "" : ",", text.c_str());
  std::fflush(stdout);
  first_line = false;
}

MatmulArgs args_of(const Matrix& m, const void* act, size_t tokens, float* y) {
  MatmulArgs a = {};
  a.type = m.type;
  a.w = m.w.get();
  a.row_bytes = row_bytes(m.type, m.k);
  a.k = m.k;
  a.act = act;
  a.tokens = tokens;
  a.t1 = tokens;
  a.y = y;
  a.ldy = m.n;
  a.scale = 1.0f;
  return a;
}

Memory prepared(const Dispatch& d, const Matrix& m, const std::vector<float>& x, size_t tokens) {
  const ActKind kind = act_kind(m.type);
  Memory act = memory(d.act_bytes(kind, m.k, tokens));
  d.prepare({kind, x.data(), m.k, m.k, tokens, 0, tokens, 0, chunks_of(m.k), act.get()});
  return act;
}

void bench_matvec(const Options& o, Type type, size_t k, size_t tokens) {
  const size_t n = (400u << 20) / row_bytes(type, k) / kRowStep * kRowStep;
  const Matrix m = make_matrix(type, k, n);
  const std::vector<float> x = random_floats(k * tokens);
  const Memory act = prepared(*o.table, m, x, tokens);
  std::vector<float> y(n * tokens);
  const size_t scratch_bytes = matmul_scratch_bytes(tokens);
  for (int threads : o.threads) {
    Team team(threads);
    std::vector<Memory> scratch;
    for (int i = 0; i < threads; ++i) scratch.push_back(memory(scratch_bytes));
    std::vector<double> rate, plain, ratio, cpu;
    for (int r = 0; r < o.repeats; ++r) {
      const double t0 = now();
      const double spent = team.run([&](int i) {
        MatmulArgs a = args_of(m, act.get(), tokens, y.data());
        const Range range = part(n, i, threads);
        a.n0 = range.from;
        a.n1 = range.to;
        o.table->matmul(a, scratch[static_cast<size_t>(i)].get());
      });
      const double t1 = now();
      team.run([&](int i) {
        const size_t share = m.bytes() / static_cast<size_t>(threads) / 64 * 64;
        read_loop(m.w.get() + share * static_cast<size_t>(i), share);
      });
      const double t2 = now();
      cpu.push_back(static_cast<double>(m.bytes()) / spent / 1e9);
      rate.push_back(static_cast<double>(m.bytes()) / (t1 - t0) / 1e9);
      plain.push_back(static_cast<double>(m.bytes()) / (t2 - t1) / 1e9);
      ratio.push_back((t2 - t1) / (t1 - t0));
    }
    char text[256];
    std::snprintf(
        text, sizeof text,
        R"({"kernel":"matvec","type":"%s","k":%zu,"tokens":%zu,"threads":%d,"gbs":%.2f,"best_gbs":%.2f,"cpu_gbs":%.2f,"read_gbs":%.2f,"best_read_gbs":%.2f,"of_read":%.3f})",
        type_info(type).name, k, tokens, threads, median(rate), best(rate), median(cpu), median(plain), best(plain),
        median(ratio));
    line(text);
  }
}

// The same from a matrix that stays in the second-level cache: what the arithmetic alone allows.
void bench_cached(const Options& o, Type type, size_t k, size_t tokens) {
  const size_t n = std::max<size_t>((384u << 10) / row_bytes(type, k) / kRowStep, 1) * kRowStep;
  const Matrix m = make_matrix(type, k, n);
  const std::vector<float> x = random_floats(k * tokens);
  const Memory act = prepared(*o.table, m, x, tokens);
  const Memory scratch = memory(matmul_scratch_bytes(tokens));
  std::vector<float> y(n * tokens);
  MatmulArgs a = args_of(m, act.get(), tokens, y.data());
  a.n1 = n;
  std::vector<double> rate;
  for (int r = 0; r < 3 * o.repeats; ++r) {
    const double t0 = thread_seconds();
    for (int i = 0; i < 100; ++i) o.table->matmul(a, scratch.get());
    rate.push_back(100.0 * static_cast<double>(m.bytes()) / (thread_seconds() - t0) / 1e9);
  }
  char text[256];
  std::snprintf(
      text, sizeof text,
      R"({"kernel":"matvec_cached","type":"%s","k":%zu,"tokens":%zu,"gbs":%.2f,"best_gbs":%.2f,"best_gops":%.2f})",
      type_info(type).name, k, tokens, median(rate), best(rate),
      best(rate) * 2.0 * static_cast<double>(n * k * tokens) / static_cast<double>(m.bytes()));
  line(text);
}

void bench_gemm(const Options& o, Type type, size_t k, size_t n, size_t tokens) {
  const Matrix m = make_matrix(type, k, n);
  const std::vector<float> x = random_floats(k * tokens);
  const ActKind kind = act_kind(type);
  const Memory act = memory(o.table->act_bytes(kind, k, tokens));
  std::vector<float> y(n * tokens);
  for (int threads : o.threads) {
    Team team(threads);
    std::vector<Memory> scratch;
    for (int i = 0; i < threads; ++i) scratch.push_back(memory(matmul_scratch_bytes(tokens)));
    std::vector<double> gops, prepare, cpu;
    for (int r = 0; r < o.repeats; ++r) {
      const double t0 = now();
      team.run([&](int i) {
        const size_t a = tokens * static_cast<size_t>(i) / static_cast<size_t>(threads);
        const size_t b = tokens * static_cast<size_t>(i + 1) / static_cast<size_t>(threads);
        o.table->prepare({kind, x.data(), k, k, tokens, a, b, 0, chunks_of(k), act.get()});
      });
      const double t1 = now();
      std::atomic<size_t> next{0};
      const double spent = team.run([&](int i) {
        MatmulArgs a = args_of(m, act.get(), tokens, y.data());
        for (;;) {
          a.n0 = next.fetch_add(2 * kRowStep);
          if (a.n0 >= n) break;
          a.n1 = std::min(a.n0 + 2 * kRowStep, n);
          o.table->matmul(a, scratch[static_cast<size_t>(i)].get());
        }
      });
      const double t2 = now();
      cpu.push_back(2.0 * static_cast<double>(n * k * tokens) / spent / 1e9);
      gops.push_back(2.0 * static_cast<double>(n * k * tokens) / (t2 - t1) / 1e9);
      prepare.push_back((t1 - t0) / (t2 - t1));
    }
    char text[256];
    std::snprintf(
        text, sizeof text,
        R"({"kernel":"gemm","type":"%s","k":%zu,"n":%zu,"tokens":%zu,"threads":%d,"gops":%.1f,"best_gops":%.1f,"cpu_gops":%.1f,"prepare_share":%.4f})",
        type_info(type).name, k, n, tokens, threads, median(gops), best(gops), best(cpu), median(prepare));
    line(text);
  }
}

void bench_attention(const Options& o, size_t heads, size_t kv_heads, size_t head_dim, size_t tokens, size_t past) {
  const size_t capacity = past + tokens, layers = tokens == 1 ? 28 : 1;
  std::vector<uint16_t> k(layers * kv_heads * capacity * head_dim), v(k.size());
  const std::vector<float> values = random_floats(4096);
  for (size_t i = 0; i < k.size(); i += 4096) {
    o.table->f32_to_f16(values.data(), k.data() + i, std::min<size_t>(4096, k.size() - i));
    o.table->f32_to_f16(values.data(), v.data() + i, std::min<size_t>(4096, k.size() - i));
  }
  const std::vector<float> q = random_floats(heads * head_dim * tokens);
  std::vector<float> out(q.size());
  AttentionArgs a = {};
  a.q = q.data();
  a.q_token_stride = a.out_token_stride = heads * head_dim;
  a.q_head_stride = a.out_head_stride = head_dim;
  a.kv_type = Type::f16;
  a.kv_head_stride = capacity * head_dim;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  a.tokens = tokens;
  a.past = past;
  a.scale = 0.088f;
  a.causal = true;
  a.out = out.data();
  for (int threads : o.threads) {
    Team team(threads);
    std::vector<Memory> scratch;
    for (int i = 0; i < threads; ++i) scratch.push_back(memory(attention_scratch_bytes(head_dim, heads / kv_heads)));
    std::vector<double> seconds, cpu;
    for (int r = 0; r < o.repeats; ++r) {
      const double t0 = now();
      double spent = 0.0;
      for (size_t layer = 0; layer < layers; ++layer) {
        AttentionArgs b = a;
        b.k = k.data() + layer * kv_heads * capacity * head_dim;
        b.v = v.data() + layer * kv_heads * capacity * head_dim;
        std::atomic<size_t> next{0};
        spent += team.run([&](int i) {
          const size_t blocks = tokens == 1 ? 1 : (tokens + kAttentionTokenStep - 1) / kAttentionTokenStep;
          for (;;) {
            const size_t item = next.fetch_add(1);
            if (item >= blocks * kv_heads) break;
            const size_t block = blocks - 1 - item / kv_heads, head = item % kv_heads;
            void* s = scratch[static_cast<size_t>(i)].get();
            if (tokens == 1) {
              o.table->attention_decode(b, head, 0, capacity, nullptr, s);
            } else {
              const size_t t = block * kAttentionTokenStep;
              o.table->attention_prompt(b, head, t, std::min(t + kAttentionTokenStep, tokens), s);
            }
          }
        });
      }
      cpu.push_back(spent / static_cast<double>(layers));
      seconds.push_back((now() - t0) / static_cast<double>(layers));
    }
    const double s = *std::min_element(seconds.begin(), seconds.end());
    const double pairs =
        static_cast<double>(tokens) * static_cast<double>(past) + static_cast<double>(tokens * (tokens + 1)) / 2;
    const double flop = 4.0 * pairs * static_cast<double>(heads * head_dim);
    const double bytes = 4.0 * static_cast<double>(kv_heads * capacity * head_dim);
    char text[256];
    std::snprintf(
        text, sizeof text,
        R"({"kernel":"attention","heads":%zu,"kv_heads":%zu,"head_dim":%zu,"tokens":%zu,"past":%zu,"threads":%d,"best_us":%.1f,"cpu_us":%.1f,"gflops":%.1f,"cache_gbs":%.2f})",
        heads, kv_heads, head_dim, tokens, past, threads, s * 1e6, median(cpu) * 1e6, flop / median(cpu) / 1e9,
        bytes / median(cpu) / 1e9);
    line(text);
  }
}

Options parse(int argc, char** argv) {
  Options o;
  const char* isa = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--isa") isa = argv[i + 1];
    if (key == "--repeats") o.repeats = std::atoi(argv[i + 1]);
    if (key == "--only") o.only = value;
    if (key == "--types") {
      for (size_t t = 0; t < kTypeCount; ++t) {
        if ((',' + value + ',').find(std::string(",") + kTypeInfo[t].name + ',') != std::string::npos)
          o.types.push_back(static_cast<Type>(t));
      }
    }
    if (key == "--threads") {
      o.threads.clear();
      for (const char* p = argv[i + 1]; *p != 0; ++p) {
        if (*p >= '1' && *p <= '9') o.threads.push_back(*p - '0');
      }
    }
  }
  if (o.types.empty()) {
    for (size_t t = static_cast<size_t>(kFirstPacked); t < kTypeCount; ++t) o.types.push_back(static_cast<Type>(t));
  }
  o.table = dispatch(isa);
  if (o.table == nullptr) {
    std::fprintf(stderr, "kernels_bench: instruction set %s is not available here\n", isa);
    std::exit(2);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::printf("{\"isa\":\"%s\",\"results\":[", o.table->name);
  if (o.only.empty() || o.only == "matvec") {
    for (Type t : {Type::q8_0, Type::q4_0, Type::q5_0, Type::q4_k, Type::q5_k, Type::q6_k, Type::f16, Type::f32}) {
      bench_matvec(o, t, 1024, 1);
      bench_matvec(o, t, 4096, 1);
    }
    for (Type t : {Type::q8_0, Type::q4_k}) bench_matvec(o, t, 1024, 4);
  }
  if (o.only.empty() || o.only == "cached") {
    for (Type t : {Type::q8_0, Type::q4_0, Type::q4_1, Type::q5_0, Type::q5_1, Type::q4_k, Type::q5_k, Type::q6_k,
                   Type::f16, Type::bf16, Type::f32}) {
      for (size_t k : {1024, 4096}) bench_cached(o, t, k, 1);
    }
    for (Type t : {Type::q8_0, Type::q4_k}) bench_cached(o, t, 1024, 4);
  }
  if (o.only.empty() || o.only == "gemm") {
    for (Type t : {Type::q8_0, Type::q4_0, Type::q4_k, Type::q5_k, Type::q6_k, Type::f16}) {
      for (size_t tokens : {16, 128, 512}) bench_gemm(o, t, 1024, 3072, tokens);
      bench_gemm(o, t, 8192, 2048, 512);
    }
  }
  // One token of each of several sequences: few rows, from the second cache.
  if (o.only == "few") {
    for (Type t : o.types) {
      for (size_t tokens : {1, 2, 3, 4, 5, 6, 8, 16}) bench_cached(o, t, 2048, tokens);
    }
  }
  // Every packed type: one token from the second cache, and a prompt.
  if (o.only == "types") {
    for (Type t : o.types) {
      bench_cached(o, t, 2048, 1);
      if (type_info(t).block <= 32) bench_cached(o, t, 1152, 1);  // a row that ends in half a chunk
      bench_gemm(o, t, 2048, 1024, 128);
    }
  }
  if (o.only.empty() || o.only == "attention") {
    bench_attention(o, 16, 8, 128, 512, 0);
    bench_attention(o, 32, 8, 64, 512, 0);
    bench_attention(o, 16, 8, 128, 1, 575);
    bench_attention(o, 32, 8, 64, 1, 575);
    bench_attention(o, 16, 8, 128, 1, 4095);
  }
  std::printf("\n  ]}\n");
  return 0;
}
