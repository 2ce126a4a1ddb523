// How fast the bytes of a model can be read by a program that does nothing else: about the most that generation can reach. The file is
// copied into pages of 2 MB, as large as those of the engine, and walked in as many pieces as a token has products, with a barrier
// after each and claims of 64 KB, and in one piece without any; both line after line, as the processor itself reads ahead, and in two
// places in turn, with lines asked for in the first and the second cache, as fast as any way that was found.
//   c++ -O3 -march=native -std=c++20 -pthread walk.cpp -o walk
//   walk FILE THREADS PIECES PASSES    for each line on stdin: bytes per second in pieces, line after line and asked for, and the same
//                                      in one piece; for "together" one number, quickly: what all threads read for a fiftieth of a second
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kItem = 65536, kPage = 4096;

// Eight lines at a time in registers of their own, said so that every caller gets it: sums of words were left to the compiler before,
// and came to four fifths of this in one thread where the function was not written out in its caller.
typedef uint64_t Line __attribute__((vector_size(64), aligned(8), may_alias));
constexpr size_t kLines = 8;

// Or the compiler would leave the loop out.
void keep(const Line (&sums)[kLines]) { __asm__ volatile("" : : "m"(sums)); }

void read_along(const char* bytes, size_t size) {
  const auto* lines = reinterpret_cast<const Line*>(bytes);
  Line sums[kLines] = {};
  for (size_t i = 0; i + kLines <= size / sizeof(Line); i += kLines) {
    for (size_t j = 0; j < kLines; ++j) sums[j] ^= lines[i + j];
  }
  keep(sums);
}

// The halves in turn. What follows a half is asked for behind the end of the other one.
void read_asking(const char* bytes, size_t size) {
  constexpr size_t kTurn = 256, kNear = 1024, kFar = 3072;
  const size_t half = size / 2 / kTurn * kTurn;
  Line sums[kLines] = {};
  for (size_t at = 0; at < half; at += kTurn) {
    for (size_t place = 0; place < 2; ++place) {
      const char* turn = bytes + place * half + at;
      const char* near = turn + kNear + (at + kNear < half ? 0 : half);
      const char* far = turn + kFar + (at + kFar < half ? 0 : half);
      for (size_t line = 0; line < kTurn; line += sizeof(Line)) {
        __builtin_prefetch(far + line, 0, 2);
        __builtin_prefetch(near + line, 0, 3);
        sums[place * 4 + line / sizeof(Line)] ^= *reinterpret_cast<const Line*>(turn + line);
        // Or the compiler would put the loads of a turn first and ask for its lines in one burst, which takes 12 to 18 % more time.
        __asm__ volatile("" : : : "memory");
      }
    }
  }
  keep(sums);
}

using Read = void(const char* bytes, size_t size);

class Barrier {
 public:
  explicit Barrier(uint32_t threads) : threads_(threads) {}
  void wait() {
    const uint32_t turn = turn_.load(std::memory_order_acquire);
    if (waiting_.fetch_add(1) + 1 == threads_) {
      waiting_.store(0);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (size_t looks = 0; turn_.load(std::memory_order_acquire) == turn; ++looks) {
      if (looks > 200) std::this_thread::yield();
    }
  }

 private:
  const uint32_t threads_;
  alignas(64) std::atomic<uint32_t> waiting_{0};
  alignas(64) std::atomic<uint32_t> turn_{0};
};

struct alignas(64) Next {
  std::atomic<size_t> item{0};
};

// Each thread takes items from its own stretch of a piece, then what the others have left.
void walk_pieces(Read* read, const char* bytes, const std::vector<size_t>& ends, std::vector<Next>& next,
                 size_t threads, size_t self, Barrier& barrier) {
  for (size_t piece = 0; piece + 1 < ends.size(); ++piece) {
    const size_t length = ends[piece + 1] - ends[piece], items = (length + kItem - 1) / kItem;
    for (size_t turn = 0; turn < threads; ++turn) {
      const size_t whose = (self + turn) % threads, first = items * whose / threads,
                   end = items * (whose + 1) / threads;
      for (size_t item; (item = first + next[piece * threads + whose].item.fetch_add(1)) < end;) {
        const size_t from = item * kItem, to = std::min(length, from + kItem);
        read(bytes + ends[piece] + from, to - from);
      }
    }
    barrier.wait();
  }
}

double rate(Read* read, const char* bytes, size_t size, size_t threads, size_t pieces, size_t passes) {
  std::vector<size_t> ends;
  for (size_t i = 0; i <= pieces; ++i) ends.push_back(size / kPage * i / pieces * kPage);
  std::vector<std::vector<Next>> next(passes);
  for (auto& pass : next) pass = std::vector<Next>(pieces * threads);
  Barrier barrier(static_cast<uint32_t>(threads));
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  const auto run = [&](size_t self) {
    for (size_t pass = 0; pass < passes; ++pass) walk_pieces(read, bytes, ends, next[pass], threads, self, barrier);
  };
  for (size_t self = 1; self < threads; ++self) others.emplace_back(run, self);
  run(0);
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(ends.back()) * static_cast<double>(passes) / taken.count();
}

// What the threads read beside each other, each through a stretch of its own for a fiftieth of a second.
double read_together(const char* bytes, size_t size, size_t threads) {
  constexpr size_t kStep = size_t{1} << 20;
  constexpr std::chrono::milliseconds kLong{20};
  const size_t each = size / threads / kStep * kStep;
  std::vector<double> rates(threads);
  Barrier barrier(static_cast<uint32_t>(threads));
  const auto run = [&](size_t self) {
    barrier.wait();
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> taken{0};
    size_t done = 0;
    for (; taken < kLong; taken = std::chrono::steady_clock::now() - begin) {
      read_along(bytes + self * each + done % each, kStep);
      done += kStep;
    }
    rates[self] = static_cast<double>(done) / taken.count();
  };
  std::vector<std::thread> others;
  for (size_t self = 1; self < threads; ++self) others.emplace_back(run, self);
  run(0);
  for (std::thread& other : others) other.join();
  double all = 0;
  for (const double rate : rates) all += rate;
  return all;
}

int failed(const char* what, int code = 1) {
  std::fprintf(stderr, "[walk] %s: %s\n", what, code == 1 ? std::strerror(errno) : "got something else");
  return code;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return failed("expected FILE THREADS PIECES PASSES", 2);
  const int file = open(arguments[1], O_RDONLY);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) return failed(arguments[1]);
  const auto size = static_cast<size_t>(info.st_size);
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return failed("no memory for a copy of the file");
#ifdef MADV_HUGEPAGE
  madvise(pages, size, MADV_HUGEPAGE);
#endif
  auto* bytes = static_cast<char*>(pages);
  for (size_t done = 0; done < size;) {
    const ssize_t got = pread(file, bytes + done, size - done, static_cast<off_t>(done));
    if (got <= 0) return failed(arguments[1]);
    done += static_cast<size_t>(got);
  }
  const size_t threads = std::strtoul(arguments[2], nullptr, 10), pieces = std::strtoul(arguments[3], nullptr, 10),
               passes = std::strtoul(arguments[4], nullptr, 10);
  if (threads == 0 || size / threads < (size_t{64} << 20)) return failed("expected a file of 64 MB for each thread", 2);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    if (std::strcmp(line, "together\n") == 0)
      std::printf("%g\n", read_together(bytes, size, threads));
    else {
      const auto walked = [&](Read* read, size_t parts) { return rate(read, bytes, size, threads, parts, passes); };
      std::printf("%g %g %g %g\n", walked(read_along, pieces), walked(read_asking, pieces), walked(read_along, 1),
                  walked(read_asking, 1));
    }
    std::fflush(stdout);
  }
  return 0;
}
