// What the test asked for, the framework's own threads, and the machine that is played.
#import "private.h"
#import <IOKit/IOKitLib.h>
#include <libproc.h>
#include <sys/sysctl.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "runtime.h"

namespace coreml_double {
namespace {

struct World {
  std::mutex mutex;
  std::condition_variable idle;
  Behaviour behaviour;
  Evaluator evaluator;
  long predictions = 0, handlers = 0;
  int running = 0, most = 0, backings = 0;
  std::string configuration;
};

Behaviour parsed(const std::string& text) {
  Behaviour made;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto at = word.find('=');
    const std::string key = word.substr(0, at), value = at == std::string::npos ? "" : word.substr(at + 1);
    const std::map<std::string, std::string*> texts{{"compile", &made.compile}, {"load", &made.load},
                                                    {"predict", &made.predict}, {"plan", &made.plan},
                                                    {"refuse", &made.refuse},   {"os-build", &made.os_build}};
    const std::map<std::string, int*> numbers{{"compile-ms", &made.compile_ms},
                                              {"load-ms", &made.load_ms},
                                              {"predict-ms", &made.predict_ms},
                                              {"pad", &made.pad},
                                              {"thermal", &made.thermal}};
    const std::map<std::string, bool*> flags{
        {"ane", &made.ane}, {"noise", &made.noise}, {"backings", &made.backings}, {"low-power", &made.low_power}};
    if (texts.contains(key))
      *texts.at(key) = value;
    else if (numbers.contains(key))
      *numbers.at(key) = std::atoi(value.c_str());
    else if (flags.contains(key))
      *flags.at(key) = value != "0";
    else if (key == "os")
      std::sscanf(value.c_str(), "%d.%d", &made.major, &made.minor);
    else {
      std::fprintf(stderr, "coreml double: unknown setting %s\n", word.c_str());
      std::abort();
    }
  }
  return made;
}

World& world() {
  static World* only = [] {
    auto* made = new World;
    if (const char* text = std::getenv("RLX_COREML_DOUBLE")) made->behaviour = parsed(text);
    return made;
  }();
  return *only;
}

}  // namespace

void configure(const std::string& text) {
  Behaviour next = parsed(text);
  std::lock_guard guard(world().mutex);
  world().behaviour = std::move(next);
}
Behaviour behaviour() {
  std::lock_guard guard(world().mutex);
  return world().behaviour;
}
void set_evaluator(Evaluator evaluator) {
  std::lock_guard guard(world().mutex);
  world().evaluator = std::move(evaluator);
}
Reply evaluate(const Request& request) {
  Evaluator evaluator;
  {
    std::lock_guard guard(world().mutex);
    evaluator = world().evaluator;
  }
  return evaluator ? evaluator(request) : Reply{};
}

Counts counts() {
  std::lock_guard guard(world().mutex);
  return {objc_double::live_objects(), world().predictions, world().handlers, world().most, world().backings};
}
void count_prediction(int change) {
  std::lock_guard guard(world().mutex);
  world().running += change;
  world().most = std::max(world().most, world().running);
  if (change < 0) world().predictions++;
}
void count_backing() {
  std::lock_guard guard(world().mutex);
  world().backings++;
}

void note_configuration(std::string text) {
  std::lock_guard guard(world().mutex);
  world().configuration = std::move(text);
}
std::string last_configuration() {
  std::lock_guard guard(world().mutex);
  return world().configuration;
}

void on_other_thread(std::function<void()> work) {
  {
    std::lock_guard guard(world().mutex);
    world().handlers++;
  }
  std::thread([work = std::move(work)]() mutable {
    @autoreleasepool {
      work();
      work = nullptr;
    }
    std::lock_guard guard(world().mutex);
    world().handlers--;
    world().idle.notify_all();
  }).detach();
}
void wait_idle() {
  std::unique_lock guard(world().mutex);
  world().idle.wait(guard, [] { return world().handlers == 0; });
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

bool act_out(const std::string& what, const char* where) {
  if (what == "throw") raise(std::string(where) + ": an exception that was asked for");
  if (what == "kill") std::raise(SIGKILL);
  if (what == "abort") std::abort();
  if (what == "hang") {
    {
      std::lock_guard guard(world().mutex);
      world().handlers--;
      world().idle.notify_all();
    }
    for (;;) sleep_ms(1000);
  }
  return what == "fail";
}

void needs(int major, int minor, const char* what) {
  const Behaviour played = behaviour();
  if (played.major > major || (played.major == major && played.minor >= minor)) return;
  raise(std::string(what) + ": unrecognized selector: macOS " + std::to_string(major) + "." + std::to_string(minor) +
        " has it first");
}

NSError* error_of(NSInteger code, const std::string& sentence) {
  return [NSError errorWithDomain:@"com.apple.CoreML"
                             code:code
                         userInfo:@{NSLocalizedDescriptionKey : string_of(sentence)}];
}

}  // namespace coreml_double

extern "C" bool objc_double_system_at_least(const char* version) {
  int major = 0, minor = 0;
  std::sscanf(version, "macOS %d.%d", &major, &minor);
  const auto played = coreml_double::behaviour();
  return played.major > major || (played.major == major && played.minor >= minor);
}

extern "C" int sysctlbyname(const char* name, void* old, size_t* size, void*, size_t) {
  const std::map<std::string, std::string> texts{{"hw.model", "Mac15,6"},
                                                 {"machdep.cpu.brand_string", "Apple M3 Pro"},
                                                 {"kern.osversion", coreml_double::behaviour().os_build}};
  static const std::map<std::string, int> numbers{{"hw.nperflevels", 2},
                                                  {"hw.perflevel0.physicalcpu", 6},
                                                  {"hw.perflevel1.physicalcpu", 6},
                                                  {"sysctl.proc_translated", 0}};
  const void* from;
  size_t length;
  if (const auto text = texts.find(name); text != texts.end()) {
    from = text->second.c_str();
    length = text->second.size() + 1;
  } else if (const auto number = numbers.find(name); number != numbers.end()) {
    from = &number->second;
    length = sizeof(int);
  } else
    return -1;
  if (old && *size < length) return -1;
  if (old) std::memcpy(old, from, length);
  *size = length;
  return 0;
}

extern "C" int proc_pid_rusage(int, int flavor, rusage_info_t* buffer) {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  if (flavor != RUSAGE_INFO_V0 || !(statm >> total >> resident)) return -1;
  reinterpret_cast<rusage_info_v0*>(buffer)->ri_phys_footprint = resident * static_cast<uint64_t>(getpagesize());
  return 0;
}

struct __CFDictionary {};
extern "C" CFMutableDictionaryRef IOServiceMatching(const char*) { return new __CFDictionary; }
extern "C" io_service_t IOServiceGetMatchingService(uint32_t, CFMutableDictionaryRef matching) {
  delete matching;  // the call takes the dictionary over
  return coreml_double::behaviour().ane ? 7 : 0;
}
extern "C" int IOObjectRelease(io_object_t) { return 0; }
