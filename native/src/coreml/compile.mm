#import "objc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

// A package becomes a compiled model at a stable place: the system ties what it specialises for a
// device to that path.
namespace rlx::coreml {

namespace files = std::filesystem;

namespace {

// Standard output goes nowhere while one of these lives: the compiler of Core ML writes there, and
// so does our JSON.
class QuietOutput {
 public:
  QuietOutput() {
    std::lock_guard guard(shared().mutex);
    if (shared().holders++ > 0) return;
    shared().saved = dup(STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~QuietOutput() {
    std::lock_guard guard(shared().mutex);
    if (--shared().holders > 0 || shared().saved < 0) return;
    dup2(shared().saved, STDOUT_FILENO);
    close(shared().saved);
    shared().saved = -1;
  }
  QuietOutput(const QuietOutput&) = delete;
  QuietOutput& operator=(const QuietOutput&) = delete;

 private:
  struct Shared {
    std::mutex mutex;
    int holders = 0, saved = -1;
  };
  static Shared& shared() {
    static Shared only;
    return only;
  }
};

// The compiler's folder is temporary and alone in a folder of its own.
void remove_temporary(const std::string& path) {
  std::error_code ignored;
  files::remove_all(path, ignored);
}

// Appears under its name at once: copied beside it first when the temporary folder is on another
// disk.
void move_into_place(const std::string& from, const files::path& target) {
  std::error_code problem;
  files::create_directories(target.parent_path(), problem);
  if (!problem) files::rename(from, target, problem);
  if (problem == std::errc::cross_device_link) {
    const files::path beside = target.string() + "." + std::to_string(getpid()) + ".partial";
    problem.clear();
    files::copy(from, beside, files::copy_options::recursive, problem);
    if (!problem) files::rename(beside, target, problem);
    if (problem) remove_temporary(beside.string());
  }
  // Another process may have compiled this content meanwhile; use its result.
  if (problem && files::exists(target)) problem.clear();
  remove_temporary(from);
  if (problem) throw Failure("ENV_IO", "[coreml] cannot keep the compiled model: " + problem.message());
}

}  // namespace

Compiled compile(const std::string& package, const std::string& target, const Cancel& cancel) {
  if (files::exists(target)) return {true, 0};
  if (!files::exists(package)) throw Failure("INPUT_NOT_FOUND", "[coreml] compile: there is no " + package);
  throw_if_cancelled(cancel);
  const auto start = std::chrono::steady_clock::now();
  const std::string made = guarded("compile", [&] {
    // Made here: a block inside a lambda would hold what the lambda captured by reference by
    // reference, too.
    auto answer = std::make_shared<Answer<std::string>>();
    auto quiet = std::make_shared<std::optional<QuietOutput>>(std::in_place);
    [MLModel compileModelAtURL:url_of(package)
             completionHandler:^(NSURL* compiled, NSError* error) {
               const std::string path = compiled ? text_of(compiled.path) : "";
               // Held until the compiler is done, even after the caller has stopped waiting; given back before the
               // caller goes on, which may write or redirect at once.
               quiet->reset();
               if (answer->abandoned()) return remove_temporary(path);
               answer->give(path, compiled ? nullptr : std::make_unique<Failure>(failure_of(error, "compile")));
             }];
    return answer->wait(cancel);
  });
  move_into_place(made, target);
  return {false, seconds_since(start)};
}

std::vector<std::string> function_names(const std::string& compiled, const Cancel& cancel) {
  if (@available(macOS 15.0, *)) {
    return guarded("load", [&] {
      NSError* error = nil;
      MLModelAsset* asset = [MLModelAsset modelAssetWithURL:url_of(compiled) error:&error];
      if (!asset) throw failure_of(error, "load");
      auto answer = std::make_shared<Answer<std::vector<std::string>>>();
      [asset functionNamesWithCompletionHandler:^(NSArray<NSString*>* names, NSError* problem) {
        std::vector<std::string> made;
        for (NSString* name in names) made.push_back(text_of(name));
        answer->give(made, names ? nullptr : std::make_unique<Failure>(failure_of(problem, "load")));
      }];
      return answer->wait(cancel);
    });
  }
  return {};
}

}  // namespace rlx::coreml
