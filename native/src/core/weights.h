// Weight files, mapped read-only. A file other than the one whose header was read (replaced or
// rewritten since) is refused with INPUT_CHANGED. So is a file that changes while it is mapped:
// every run compares size and time before and after. On request files move to larger pages
// (huge_pages.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "huge_pages.h"
#include "platform/platform.h"

namespace rlx {

class MappedFile {
 public:
  // `identity`: device, file number, size and time of the last write, as
  // main/node/files/fileByteSource.ts writes them; empty for any.
  MappedFile(const std::string& path, const std::string& identity);

  const uint8_t* data() const { return map_.data(); }
  size_t size() const { return map_.size(); }
  const std::string& path() const { return path_; }
  // Throws INPUT_CHANGED when the file is not what it was when it was opened.
  void check() const;
  Mapping mapping() const { return {file_.handle(), map_.data(), map_.size()}; }

 private:
  std::string path_;
  platform::OpenFile file_;
  platform::FileFacts facts_;
  platform::FileMap map_;
};

class Weights {
 public:
  // `identities`: one for each path, or none at all.
  explicit Weights(const std::vector<std::string>& paths, const std::vector<std::string>& identities = {});

  size_t files() const { return files_.size(); }
  const MappedFile& file(size_t index) const { return *files_[index]; }
  size_t bytes() const;
  void check() const;
  // In the background, once; not for small files, nor for files larger than `available` memory
  // (half of it for copies).
  void use_huge_pages(HugePages::Way way, size_t available);
  const HugePages& huge() const { return huge_; }
  // Bytes [offset, offset + bytes) of a file, or INPUT_ARGUMENT.
  const uint8_t* at(size_t file, uint64_t offset, uint64_t bytes) const;

 private:
  std::vector<std::unique_ptr<MappedFile>> files_;
  HugePages huge_;  // ends before the files do
};

}  // namespace rlx
