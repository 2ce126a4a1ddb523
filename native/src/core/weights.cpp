#include "weights.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "error.h"

namespace rlx {
namespace {

// Smaller models stay in the caches.
constexpr size_t kWorthwhile = 32 << 20;

platform::FileFacts facts_of(const platform::OpenFile& file, const std::string& path, const std::string& identity) {
  const std::optional<platform::FileFacts> facts = file.facts();
  if (!facts || facts->size == 0) fail(Code::input_unreadable, "[weights] %s is not a file with content", path.c_str());
  char found[160];
  std::snprintf(found, sizeof found, "%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRId64, facts->device, facts->file,
                facts->size, facts->modified);
  if (!identity.empty() && identity != found)
    fail(Code::input_changed, "[weights] %s is not the file that was opened: it was replaced or written to since",
         path.c_str());
  return *facts;
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& identity)
    : path_(path), file_(path), facts_(facts_of(file_, path, identity)), map_(file_, facts_.size, path) {}

void MappedFile::check() const {
  const std::optional<platform::FileFacts> now = file_.facts();
  if (!now || now->size != facts_.size || now->modified != facts_.modified || map_.lost())
    fail(Code::input_changed, "[weights] the file changed while it was in use: %s", path_.c_str());
}

Weights::Weights(const std::vector<std::string>& paths, const std::vector<std::string>& identities) {
  if (paths.empty()) fail(Code::input_argument, "[weights] no file: got an empty list, expected one or more paths");
  if (!identities.empty() && identities.size() != paths.size())
    fail(Code::input_argument, "[weights] identities: got %zu, expected %zu or none", identities.size(), paths.size());
  for (size_t i = 0; i < paths.size(); i++)
    files_.push_back(std::make_unique<MappedFile>(paths[i], identities.empty() ? std::string() : identities[i]));
}

void Weights::use_huge_pages(HugePages::Way way, size_t available) {
  // A file that does not fit into memory would only push itself out.
  if (bytes() < kWorthwhile || bytes() > (way == HugePages::Way::copy ? available / 2 : available)) return;
  std::vector<Mapping> mappings;
  mappings.reserve(files_.size());
  for (const auto& file : files_) mappings.push_back(file->mapping());
  huge_.begin(std::move(mappings), way);
}

size_t Weights::bytes() const {
  size_t total = 0;
  for (const auto& file : files_) total += file->size();
  return total;
}

void Weights::check() const {
  for (const auto& file : files_) file->check();
}

const uint8_t* Weights::at(size_t file, uint64_t offset, uint64_t bytes) const {
  if (file >= files_.size())
    fail(Code::input_argument, "[weights] file %zu of %zu does not exist", file, files_.size());
  const MappedFile& mapped = *files_[file];
  if (offset > mapped.size() || bytes > mapped.size() - offset)
    fail(Code::input_argument, "[weights] %llu bytes at %llu are outside %s (%zu bytes)",
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset), mapped.path().c_str(),
         mapped.size());
  return mapped.data() + offset;
}

}  // namespace rlx
