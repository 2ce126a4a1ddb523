// Weight files, mapped read-only. A file that changes or shrinks while it is mapped gives INPUT_CHANGED: every run compares
// size and time before and after. A read behind a new end lands on zero pages: a SIGBUS handler maps them and marks the
// file as lost, so the process survives. On request files move to larger pages (huge_pages.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "huge_pages.h"

namespace rlx {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Throws INPUT_CHANGED when the file is not what it was when it was opened.
  void check() const;
  Mapping mapping() const { return {fd_, data_, size_}; }

 private:
  std::string path_;
  int fd_ = -1;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int64_t modified_ = 0;
  int slot_ = -1;
};

class Weights {
 public:
  explicit Weights(const std::vector<std::string>& paths);

  size_t files() const { return files_.size(); }
  const MappedFile& file(size_t index) const { return *files_[index]; }
  size_t bytes() const;
  void check() const;
  // In the background, once, unless the files are small, or larger than the memory that is available (a copy: than half of it).
  void use_huge_pages(HugePages::Way way, size_t available);
  const HugePages& huge() const { return huge_; }
  // Bytes [offset, offset + bytes) of a file, or INPUT_ARGUMENT.
  const uint8_t* at(size_t file, uint64_t offset, uint64_t bytes) const;

 private:
  std::vector<std::unique_ptr<MappedFile>> files_;
  HugePages huge_;  // ends before the files do
};

}  // namespace rlx
